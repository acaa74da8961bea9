use std::fs::File;
use std::io::Read;

use super::*;
use crate::own_process::run_in_own_process;

/// Makes the descriptor not writable. Returns false if it was so already.
fn block(bell: &Doorbell, number: u32) -> bool {
    let open = bell.is_room_open().expect("poll");
    if open {
        bell.block_room(number).expect("sent");
    }
    open
}

/// Drops the last copy of an end in this process, and waits until no copy is left. A child that another test forks at that
/// moment has a copy until it ends or executes a program.
pub(super) fn drop_last(last: Doorbell, peer: &Doorbell) {
    drop(last);
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while !peer.is_alone().expect("poll") && std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn heard(bell: &Doorbell, interest: Interest) -> Heard {
    bell.wait(interest, None, Some(Duration::ZERO)).expect("poll")
}

#[test]
fn bells_arrive_once_with_their_numbers() {
    let (near, far) = Doorbell::pair().expect("pair");
    assert_eq!(heard(&far, Interest::Packets), Heard::TimedOut);
    assert!(near.ring(7) && near.ring(8));
    assert_eq!(heard(&far, Interest::Packets), Heard::Ready);
    assert_eq!(far.peek().expect("recv"), Packet::Bell(7));
    assert_eq!(far.take().expect("recv"), Packet::Bell(7));
    assert_eq!(far.take().expect("recv"), Packet::Bell(8));
    assert_eq!(far.peek().expect("recv"), Packet::Nothing);
    assert_eq!(far.take().expect("recv"), Packet::Nothing);
    assert_eq!(heard(&near, Interest::Packets), Heard::TimedOut);
}

#[test]
fn ring_never_waits() {
    let (near, far) = Doorbell::pair().expect("pair");
    for _ in 0..100_000 {
        assert!(near.ring(1));
    }
    drop_last(far, &near);
    assert!(!near.ring(1));
}

#[test]
fn other_end_hangs_up_with_its_last_copy() {
    let (near, far) = Doorbell::pair().expect("pair");
    let copy = far.try_clone().expect("dup");
    drop(far);
    assert!(!near.is_alone().expect("poll"));
    drop_last(copy, &near);
    assert!(near.is_alone().expect("poll"));
    assert_eq!(near.take().expect("recv"), Packet::Gone);
}

#[test]
fn peer_that_leaves_packets_unread_is_gone() {
    let (near, far) = Doorbell::pair().expect("pair");
    assert!(near.ring(1) && far.ring(2));
    drop_last(far, &near);
    // The kernel reports a reset first, and then what was sent before.
    assert_eq!(near.take().expect("recv"), Packet::Bell(2));
    assert_eq!(near.take().expect("recv"), Packet::Gone);
}

#[test]
fn file_stays_in_the_queue_until_it_is_taken() {
    let (near, far) = Doorbell::pair().expect("pair");
    near.pass(File::open("/proc/self/stat").expect("open").as_fd(), 3).expect("pass");
    assert_eq!(far.peek().expect("recv"), Packet::File(3));
    drop_last(near, &far);
    for _ in 0..2 {
        let PassedFiles { mut files, sender } = far.peek_files().expect("recvmsg").expect("it is there");
        let file = files.pop().expect("one");
        let own = (crate::files::own_user(), crate::files::own_group());
        assert_eq!(sender.map(|sender| (sender.user, sender.group)), Some(own), "also after the sender is gone");
        let mut text = String::new();
        File::from(file).read_to_string(&mut text).expect("read");
        assert!(text.is_empty() || text.starts_with(&std::process::id().to_string()));
    }
    assert_eq!(far.take().expect("recv"), Packet::File(3));
    assert_eq!(far.take().expect("recv"), Packet::Gone);
}

#[test]
fn taken_file_is_closed_with_the_kept_copy() {
    let Some(_alone) = run_in_own_process() else { return };
    for _ in 0..200 {
        let (near, far) = Doorbell::pair().expect("pair");
        let (passed, mut peer) = std::os::unix::net::UnixStream::pair().expect("pair");
        peer.set_nonblocking(true).expect("fcntl");
        near.pass(passed.as_fd(), 3).expect("pass");
        drop(passed);
        let kept = far.peek_files().expect("recvmsg").expect("it is there");
        assert_eq!(far.take_keeping(&kept.files).expect("recv"), Packet::File(3));
        drop(kept);
        assert_eq!(peer.read(&mut [0]).expect("the end, at once"), 0);
    }
}

#[test]
fn room_is_blocked_until_the_other_end_takes_the_packet() {
    let (near, far) = Doorbell::pair().expect("pair");
    let poller = near.try_clone().expect("dup");
    assert_eq!(heard(&near, Interest::Room), Heard::Ready);
    assert!(near.ring(1) && near.ring(2), "bells leave room");
    assert_eq!(heard(&near, Interest::Room), Heard::Ready);
    assert!(block(&near, 6));
    assert!(!block(&near, 6), "once is enough");
    assert_eq!(heard(&poller, Interest::Room), Heard::TimedOut);
    assert!(near.ring(3), "a bell still gets through");
    let behind = [Packet::Bell(6), Packet::Bell(3)];
    for expected in [Packet::Bell(1), Packet::Bell(2), Packet::NoRoom].into_iter().chain(behind) {
        assert_eq!(heard(&poller, Interest::Room) == Heard::Ready, behind.contains(&expected));
        assert_eq!(far.take().expect("recv"), expected);
    }
    assert_eq!(heard(&poller, Interest::Room), Heard::Ready);
}

#[test]
fn may_hold_no_room_finds_the_packet_behind_bells() {
    let (near, far) = Doorbell::pair().expect("pair");
    assert!(!far.may_hold_no_room().expect("ioctl"));
    for number in 0..5 {
        assert!(near.ring(number));
    }
    assert!(!far.may_hold_no_room().expect("ioctl"), "bells alone are shorter");
    assert!(block(&near, 6));
    for number in 0..5 {
        assert!(far.may_hold_no_room().expect("ioctl"));
        assert_eq!(far.take().expect("recv"), Packet::Bell(number));
    }
    assert_eq!(far.take().expect("recv"), Packet::NoRoom);
    assert!(!far.may_hold_no_room().expect("ioctl"));
}

/// A process can be killed between two system calls, but not within one.
#[test]
fn block_room_sends_packet_and_bell_in_one_call() {
    let Some(_alone) = run_in_own_process() else { return };
    use crate::child::Child;
    use crate::refuse::{Refusal, refuse};
    for refused in [libc::SYS_sendmsg, libc::SYS_sendmmsg] {
        let mut child = Child::fork(|| {
            let (near, far) = Doorbell::pair().expect("pair");
            let errno = if refused == libc::SYS_sendmsg { libc::EIO } else { libc::ENOSYS };
            refuse(&[Refusal { call: refused, argument: None, errno }]).expect("seccomp");
            assert!(block(&near, 4));
            let taken = [(); 3].map(|()| far.take().expect("recv"));
            assert_eq!(taken, [Packet::NoRoom, Packet::Bell(4), Packet::Nothing], "without call {refused}");
            0
        })
        .expect("fork");
        assert!(child.wait().expect("wait").success());
    }
}

#[test]
fn new_room_is_an_edge() {
    use rustix::event::epoll;
    let (near, far) = Doorbell::pair().expect("pair");
    let set = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll");
    let both = epoll::EventFlags::OUT | epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(&set, &near, epoll::EventData::new_u64(0), both).expect("epoll");
    let events = || {
        let mut events = Vec::with_capacity(4);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&set, rustix::buffer::spare_capacity(&mut events), Some(&now)).expect("epoll")
    };
    assert_eq!((events(), events()), (1, 0), "writable from the start, reported once");
    block(&near, 6);
    assert_eq!(events(), 0);
    assert_eq!(far.take().expect("recv"), Packet::NoRoom);
    assert_eq!((events(), events()), (1, 0));
    assert_eq!(far.take().expect("recv"), Packet::Bell(6));
    events();
    block(&near, 6);
    near.nudge_own().expect("setsockopt");
    assert_eq!((events(), events()), (1, 0), "our own end can free itself");
    assert!(!block(&near, 6), "the old packet blocks it again");
    assert_eq!(heard(&near, Interest::Room), Heard::TimedOut);
}

#[test]
fn nudge_wakes_each_watch_once() {
    let (near, far) = Doorbell::pair().expect("pair");
    let copies = [near.try_clone().expect("dup"), near.try_clone().expect("dup")];
    let watches = copies.each_ref().map(|copy| copy.watch_own().expect("epoll").expect("a socket"));
    let heard = |at: usize| copies[at].wait(Interest::Packets, Some(&watches[at]), Some(Duration::ZERO)).expect("poll");
    // Also while the descriptor is not writable.
    for blocked in [false, true] {
        if blocked {
            assert!(block(&near, 1));
        }
        for at in [0, 1] {
            assert_eq!(heard(at), Heard::TimedOut, "room alone is not reported");
        }
        for _ in 0..3 {
            near.nudge_own().expect("setsockopt");
            for at in [0, 1] {
                assert_eq!((heard(at), heard(at)), (Heard::Nudged, Heard::TimedOut));
            }
        }
    }
    assert!(far.ring(1));
    assert_eq!(heard(0), Heard::Ready);
    drop_last(far, &near);
    assert_eq!(heard(0), Heard::Gone);
}

#[test]
fn bytes_of_another_program_are_foreign() {
    let (near, far) = Doorbell::pair().expect("pair");
    rustix::io::write(&near, b"text of a child").expect("write");
    assert_eq!(far.peek().expect("recv"), Packet::Foreign(15));
    assert_eq!(far.take().expect("recv"), Packet::Foreign(15));
    send(&near, b"", SendFlags::empty()).expect("send");
    assert_eq!(far.take().expect("recv"), Packet::Foreign(0), "not the end");
}

#[test]
fn unrequested_descriptors_are_not_received() {
    let Some(_alone) = run_in_own_process() else { return };
    let (near, far) = Doorbell::pair().expect("pair");
    let count = || descriptors::own().expect("/proc").len();
    let file = File::open("/dev/null").expect("open");
    let on: libc::c_int = 1;
    let far = far.try_clone().expect("dup");
    // SAFETY: setsockopt reads one int.
    unsafe { libc::setsockopt(far.own.as_raw_fd(), libc::SOL_SOCKET, 76, (&raw const on).cast(), 4) };
    let before = count();
    for number in 0..4 {
        near.pass(file.as_fd(), number).expect("pass");
        assert_eq!(far.take().expect("recv"), Packet::File(number));
        assert!(near.ring(number));
        assert_eq!(far.take().expect("recv"), Packet::Bell(number));
    }
    near.pass(file.as_fd(), 9).expect("pass");
    drop(far.peek_files().expect("recvmsg").expect("a file"));
    assert_eq!(far.take().expect("recv"), Packet::File(9));
    // No file where one is announced: then there is space for unrequested descriptors.
    assert!(near.send(Packet::File(10), &[]));
    for _ in 0..8 {
        assert!(far.peek_files().expect("recvmsg").is_none());
    }
    assert_eq!(count(), before, "descriptors");
    let far = Doorbell::from_fd(far.own).expect("a socket");
    let mut value: libc::c_int = 1;
    let mut len = 4;
    // SAFETY: getsockopt writes one int.
    unsafe { libc::getsockopt(far.own.as_raw_fd(), libc::SOL_SOCKET, 76, (&raw mut value).cast(), &mut len) };
    assert_eq!(value, 0, "from_fd clears the option");
}

#[test]
fn shutdown_for_writing_is_seen_as_gone() {
    let (near, far) = Doorbell::pair().expect("pair");
    near.shutdown(Shutdown::Write).expect("shutdown");
    assert_eq!(heard(&far, Interest::Packets), Heard::Ready);
    assert_eq!(far.take().expect("recv"), Packet::Gone);
    assert!(!far.is_alone().expect("poll"), "the other end still reads");
    assert!(far.ring(1));
    assert_eq!(near.take().expect("recv"), Packet::Bell(1));
}

#[test]
fn copies_share_their_cookie() {
    let (near, far) = Doorbell::pair().expect("pair");
    assert_eq!(near.cookie().ok(), near.try_clone().expect("dup").cookie().ok());
    assert_ne!(near.cookie().ok(), far.cookie().ok());
}

#[test]
fn descriptor_of_another_file_is_refused() {
    let file = File::open("/dev/null").expect("open");
    assert_eq!(Doorbell::from_fd(file.into()).expect_err("no socket").kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn stated_sender_arrives_with_the_files() {
    let (near, far) = Doorbell::pair().expect("pair");
    let file = File::open("/dev/null").expect("open");
    let stated = Sender { user: 0xfedc_ba98, group: 7 };
    near.pass_all(&[file.as_fd(); 9], 3, Some(stated)).expect("pass");
    near.pass_all(&[file.as_fd(); 2], 4, None).expect("pass");
    assert!(near.pass_all(&[file.as_fd(); 10], 5, None).is_err());
    for (number, count, sender) in
        [(3, 9, stated), (4, 2, Sender { user: crate::files::own_user(), group: crate::files::own_group() })]
    {
        assert_eq!(far.peek().expect("recv"), Packet::File(number));
        let passed = far.peek_files().expect("recvmsg").expect("they are there");
        assert_eq!((passed.files.len(), passed.sender), (count, Some(sender)));
        assert_eq!(far.take().expect("recv"), Packet::File(number));
    }
}

#[test]
fn other_users_cannot_state_a_sender() {
    let mut bytes = [0; LEN + STATED];
    bytes[LEN..].copy_from_slice(&stated_bytes(Sender { user: 1, group: 2 }));
    let own = crate::files::own_user();
    assert_eq!(stated_sender(Sender { user: own, group: 9 }, &bytes), Sender { user: 1, group: 2 });
    assert_eq!(stated_sender(Sender { user: 0, group: 9 }, &bytes), Sender { user: 1, group: 2 });
    let other = Sender { user: own.wrapping_add(4321), group: 9 };
    assert_eq!(stated_sender(other, &bytes), other);
    assert_eq!(stated_sender(Sender { user: own, group: 9 }, &[0; LEN + STATED]), Sender { user: own, group: 9 });
}

#[test]
fn too_many_files_are_received_as_one() {
    let (near, far) = Doorbell::pair().expect("pair");
    let file = File::open("/dev/null").expect("open");
    let count = || descriptors::own().expect("/proc").len();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(60))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let many = [file.as_fd(); 60];
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&many)));
    sendmsg(&near.own, &[IoSlice::new(&Packet::File(1).bytes())], &mut ancillary, QUIETLY).expect("send");
    let before = count();
    let passed = far.peek_files().expect("recvmsg").expect("it is there");
    assert_eq!(passed.files.len(), 1);
    assert!(count() < before + 8, "they are closed");
}
