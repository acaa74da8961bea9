use std::time::Duration;

use rustix::event::epoll;

use super::*;
use crate::doorbell::tests::drop_last;
use crate::doorbell::{Doorbell, Heard, Interest, Packet};
use crate::files;

fn ends() -> (Doorbell, Doorbell) {
    let (source, sink) = files::shared_pipe().expect("pipe");
    // Opened again, as another process would.
    let sink = Found::own(sink.as_fd()).open(OFlags::WRONLY | OFlags::NONBLOCK).expect("open");
    (Doorbell::from_pipe(sink).expect("it writes"), Doorbell::from_pipe(source).expect("it reads"))
}

fn heard(bell: &Doorbell, interest: Interest) -> Heard {
    bell.wait(interest, None, Some(Duration::ZERO)).expect("poll")
}

#[test]
fn pipe_rings_and_hangs_up_like_sockets() {
    let (writer, reader) = ends();
    assert_eq!((heard(&reader, Interest::Both), heard(&writer, Interest::Both)), (Heard::TimedOut, Heard::Ready));
    assert_eq!(writer.cookie().ok(), reader.cookie().ok());
    assert!(writer.ring(1) && writer.ring(2));
    assert_eq!(heard(&reader, Interest::Packets), Heard::Ready);
    assert_eq!(reader.peek().expect("ioctl"), Packet::Bell(0));
    assert_eq!(reader.drain_pipe().expect("read"), 0);
    assert_eq!(reader.peek().expect("ioctl"), Packet::Nothing);
    assert!(reader.ring_own());
    assert_eq!(heard(&reader, Interest::Packets), Heard::Ready, "the reading end can send itself a bell");
    let copy = writer.try_clone().expect("dup");
    drop(writer);
    assert!(!reader.is_alone().expect("poll") && !copy.is_alone().expect("poll"));
    drop_last(copy, &reader);
    assert!(reader.is_alone().expect("poll"));
}

#[test]
fn ring_without_a_reader_fails_and_raises_no_signal() {
    let (writer, reader) = ends();
    drop_last(reader, &writer);
    // Rust programs ignore SIGPIPE; others do not.
    let mut child = crate::child::Child::fork(|| {
        // SAFETY: the default action is no handler.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let told = !writer.ring(1) && writer.is_alone().is_ok_and(|alone| alone) && writer.block_room(0).is_ok();
        let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: a valid place; and then an initialised set.
        let left = unsafe {
            libc::sigpending(pending.as_mut_ptr());
            libc::sigismember(pending.as_ptr(), libc::SIGPIPE)
        };
        i32::from(!told || left != 0)
    })
    .expect("fork");
    let status = child.wait().expect("wait");
    assert!(status.success(), "{status:?}");
}

#[test]
fn pending_sigpipe_of_the_program_stays() {
    let (writer, reader) = ends();
    drop_last(reader, &writer);
    let mut child = crate::child::Child::fork(|| {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: valid places and initialised sets.
        let stayed = unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
            libc::raise(libc::SIGPIPE);
            writer.ring(1);
            libc::sigpending(pending.as_mut_ptr());
            libc::sigismember(pending.as_ptr(), libc::SIGPIPE) == 1
        };
        i32::from(!stayed)
    })
    .expect("fork");
    assert!(child.wait().expect("wait").success());
}

#[test]
fn freed_pipe_is_writable_and_stays_readable() {
    let (writer, reader) = ends();
    for round in 0..100 {
        for _ in 0..round % 7 {
            assert!(writer.ring(1));
        }
        assert_eq!(heard(&writer, Interest::Room), Heard::Ready, "round {round}: bells leave room");
        assert!(writer.block_room(0).expect("write"));
        assert!(!writer.block_room(0).expect("poll"), "once is enough");
        assert_eq!(heard(&writer, Interest::Room), Heard::TimedOut);
        assert!(writer.ring(3), "the reading end is readable already");
        assert_eq!(reader.free_pipe().expect("read"), 0);
        assert_eq!(heard(&writer, Interest::Room), Heard::Ready, "round {round}");
        assert_eq!(heard(&reader, Interest::Packets), Heard::Ready, "round {round}: a byte is left");
        if round % 3 == 0 {
            assert_eq!(reader.drain_pipe().expect("read"), 0);
            assert_eq!(heard(&reader, Interest::Packets), Heard::TimedOut);
        }
    }
}

#[test]
fn room_in_a_pipe_is_an_edge() {
    let (writer, reader) = ends();
    let set = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll");
    let both = epoll::EventFlags::OUT | epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(&set, &writer, epoll::EventData::new_u64(0), both).expect("epoll");
    let events = || {
        let mut events = Vec::with_capacity(4);
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&set, rustix::buffer::spare_capacity(&mut events), Some(&now)).expect("epoll")
    };
    assert_eq!((events(), events()), (1, 0), "writable from the start, reported once");
    for _ in 0..10 {
        assert!(writer.block_room(0).expect("write"));
        assert_eq!(events(), 0);
        assert_eq!(reader.free_pipe().expect("read"), 0);
        assert_eq!((events(), events()), (1, 0));
        assert!(writer.block_room(0).expect("write"));
        writer.nudge_own().expect("fcntl");
        assert_eq!((events(), events()), (1, 0), "our own end can free itself");
        assert!(!writer.block_room(0).expect("poll"), "the bytes in the pipe block it again");
        assert_eq!(heard(&writer, Interest::Room), Heard::TimedOut);
        assert_eq!(reader.drain_pipe().expect("read"), 0);
        assert_eq!((events(), events()), (1, 0));
    }
}

#[test]
fn bytes_of_another_program_are_counted() {
    let (writer, reader) = ends();
    assert!(writer.ring(1));
    rustix::io::write(&writer, b"text of a child").expect("room");
    assert_eq!(reader.drain_pipe().expect("read"), 15);
    rustix::io::write(&writer, b"more").expect("room");
    assert!(writer.block_room(0).expect("write"));
    assert_eq!(reader.free_pipe().expect("read"), 4);
}

#[test]
fn pipe_open_for_reading_and_writing_is_refused() {
    let (source, _sink) = files::shared_pipe().expect("pipe");
    let both = Found::own(source.as_fd()).open(OFlags::RDWR).expect("open");
    assert_eq!(Doorbell::from_pipe(both).expect_err("both").kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn calls_do_not_wait_after_nonblock_is_cleared() {
    let (writer, reader) = ends();
    assert_eq!(reader.drain_pipe().expect("read"), 0);
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for end in [&writer, &reader] {
            rustix::fs::fcntl_setfl(end, OFlags::empty()).expect("fcntl");
        }
        assert_eq!(reader.drain_pipe().expect("read"), 0);
        assert!(writer.block_room(0).expect("write") && writer.ring(1));
        assert_eq!(reader.drain_pipe().expect("read"), 0);
        done.send(()).expect("it waits");
    });
    is_done.recv_timeout(Duration::from_secs(10)).expect("it does not wait");
}

/// Not a test of its own: the program that [`pipe_works_where_vmsplice_is_refused`] starts.
#[test]
fn without_vmsplice() {
    use crate::refuse::{Refusal, refuse};
    if std::env::var_os("HEADWATER_NO_VMSPLICE").is_none() {
        return;
    }
    refuse(&[Refusal { call: libc::SYS_vmsplice, argument: None, errno: libc::EPERM }]).expect("seccomp");
    freed_pipe_is_writable_and_stays_readable();
    room_in_a_pipe_is_an_edge();
    pipe_rings_and_hangs_up_like_sockets();
    println!("it works");
}

#[test]
fn pipe_works_where_vmsplice_is_refused() {
    let mut program = std::process::Command::new(std::env::current_exe().expect("our own path"));
    program.args(["--exact", "doorbell::pipe::tests::without_vmsplice", "--nocapture"]);
    let done = program.env("HEADWATER_NO_VMSPLICE", "1").output().expect("it starts");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("it works"), "{said}");
}
