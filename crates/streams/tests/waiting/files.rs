//! Passed files: each arrives where its message is received, in every circumstance.

use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

use headwater_os::descriptors::inode;
use headwater_streams::{Errno, Flush, Kind, Message, Module, ModuleInfo, Queue, Side, Stream, pipe, register};

use crate::common::{child, in_own_process, joined, polled};
use crate::descriptor::SOON;

fn open(path: &str) -> File {
    File::open(path).expect("open")
}

#[test]
fn a_flushed_file_is_not_taken_for_the_next_one() {
    let (near, far) = pipe().expect("pipe");
    let (first, second) = (open("/proc/self/stat"), open("/dev/null"));
    near.files().send(first.as_fd()).expect("room");
    far.push("pipemod").expect("known");
    far.flush_queues(Flush::ALL).expect("flush");
    near.flush_queues(Flush::ALL).expect("flush");
    near.files().send(second.as_fd()).expect("room");
    let received = far.files().receive().expect("a file");
    assert_eq!(inode(&received).ok(), inode(&second).ok());
}

#[test]
fn a_file_outlives_a_sender_that_left_something_unread() {
    let (near, far) = pipe().expect("pipe");
    let file = open("/dev/null");
    near.files().send(file.as_fd()).expect("room");
    // Its own doorbell has packets in it when it is dropped.
    near.set_nonblocking(true).expect("set");
    assert_eq!(near.read(&mut [0]).expect_err("nothing").errno(), Errno::Again);
    far.write(b"never read").expect("room");
    drop(near);
    assert_eq!(inode(far.files().receive().expect("it was sent")).ok(), inode(&file).ok());
    assert_eq!(far.files().receive().expect_err("the end").errno(), Errno::Nxio);
}

#[test]
fn another_handle_that_finds_nothing_leaves_the_file() {
    let (near, far) = pipe().expect("pipe");
    let mut other = far.direct();
    other.set_nonblocking(true).expect("set");
    let file = open("/dev/null");
    near.write(b"x").expect("room");
    near.files().send(file.as_fd()).expect("room");
    near.putpmsg(None, Some(b"urgent"), 3).expect("room");
    // It reads the message before the file, and is refused by the file itself.
    assert_eq!(other.read(&mut [0; 6]).expect("the band"), 6);
    assert_eq!(other.read(&mut [0]).expect("x"), 1);
    assert_eq!(other.read(&mut [0]).expect_err("a file").errno(), Errno::Badmsg);
    assert!(other.poll(headwater_streams::Events::PRI, Some(Duration::from_millis(20))).expect("poll").is_empty());
    assert_eq!(inode(far.files().receive().expect("it is there")).ok(), inode(&file).ok());
    assert_eq!(other.read(&mut [0]).expect_err("nothing").errno(), Errno::Again);
    near.files().send(file.as_fd()).expect("room");
    assert_eq!(inode(far.files().receive().expect("it is there")).ok(), inode(&file).ok());
}

#[test]
fn a_receiver_without_a_free_descriptor_may_try_again() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    near.files().send(open("/dev/null").as_fd()).expect("room");
    let receiver = child(|| {
        far.attach()?;
        let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: getrlimit and setrlimit work on the valid place.
        unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limits) };
        let few = libc::rlimit { rlim_cur: 3, ..limits };
        // SAFETY: as above.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &few) };
        let refused = far.files().receive().expect_err("no descriptor is left");
        // SAFETY: as above.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limits) };
        assert_eq!(refused.errno(), Errno::Mfile);
        far.files().receive().map(drop)
    });
    joined(receiver);
}

#[test]
fn files_that_nobody_receives_are_refused_in_the_end_and_read_in_order() {
    let (near, far) = pipe().expect("pipe");
    let file = open("/dev/null");
    let sent = (0..1000).take_while(|_| near.files().send(file.as_fd()).is_ok()).count();
    assert!((2..100).contains(&sent), "{sent} files were queued");
    near.write(b"behind").expect("room");
    for _ in 0..sent {
        assert_eq!(inode(far.files().receive().expect("a file")).ok(), inode(&file).ok());
    }
    assert_eq!(far.read(&mut [0; 9]).expect("there"), 6);
    near.files().send(file.as_fd()).expect("there is room again");
    assert_eq!(inode(far.files().receive().expect("a file")).ok(), inode(&file).ok());
}

#[test]
fn a_reader_that_looks_while_a_file_is_sent_does_not_lose_it() {
    const FILES: usize = 2000;
    let (near, far) = pipe().expect("pipe");
    far.set_nonblocking(true).expect("set");
    let sending = std::thread::spawn(move || {
        let file = open("/dev/null");
        let mut sent = 0;
        while sent < FILES {
            match near.files().send(file.as_fd()) {
                Ok(()) => sent += 1,
                Err(error) => assert_eq!(error.errno(), Errno::Again),
            }
        }
        near
    });
    let mut received = 0;
    while received < FILES {
        match far.files().receive() {
            Ok(_) => received += 1,
            Err(error) => assert_eq!(error.errno(), Errno::Again, "file {received}: {error}"),
        }
    }
    sending.join().expect("no panic");
}

#[test]
fn a_refused_file_leaves_a_descriptor_that_tells_of_room() {
    let (near, far) = pipe().expect("pipe");
    let file = open("/dev/null");
    // As many whole messages as fit, so that no write has been refused.
    while near.can_put(0).expect("no error") {
        near.write(&[1; 1000]).expect("room");
    }
    near.set_nonblocking(true).expect("set");
    assert_eq!(near.files().send(file.as_fd()).expect_err("full").errno(), Errno::Again);
    assert_eq!(polled(&near, libc::POLLOUT, Duration::ZERO), 0, "a poller would turn and turn");
    while far.nread().expect("no error").0 > 0 {
        far.read(&mut [0; 4096]).expect("there");
    }
    assert_eq!(polled(&near, libc::POLLOUT, SOON), libc::POLLOUT);
    near.files().send(file.as_fd()).expect("room");
}

#[test]
fn a_flushed_file_does_not_keep_the_signal_of_room_back() {
    let (near, far) = pipe().expect("pipe");
    near.set_nonblocking(true).expect("set");
    far.push("pipemod").expect("known");
    near.files().send(open("/dev/null").as_fd()).expect("room");
    while near.write(&[1; 1000]).is_ok() {}
    assert_eq!(polled(&near, libc::POLLOUT, Duration::ZERO), 0, "full");
    far.flush_queues(Flush::READ).expect("flush");
    assert_eq!(polled(&near, libc::POLLOUT, SOON), libc::POLLOUT);
}

#[test]
fn a_file_before_the_signal_of_room_delays_it_until_it_is_received() {
    let (near, far) = pipe().expect("pipe");
    near.set_nonblocking(true).expect("set");
    near.files().send(open("/dev/null").as_fd()).expect("room");
    while near.putpmsg(None, Some(&[1; 1000]), 2).is_ok() {}
    assert_eq!(polled(&near, libc::POLLOUT, Duration::ZERO), 0, "full");
    while far.band().expect("something") == 2 {
        far.getmsg(None, Some(&mut [0; 1000])).expect("there");
    }
    far.files().receive().expect("it was sent");
    assert_eq!(polled(&near, libc::POLLOUT, SOON), libc::POLLOUT);
}

/// Queues all messages until an M_PROTO tells it to pass them on.
#[derive(Debug)]
struct Hoard;

impl Module for Hoard {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("hoard").service(Side::Write)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> headwater_streams::Result<()> {
        if message.header.kind != Kind::Proto || queue.side() == Side::Read {
            return if queue.side() == Side::Read { queue.put_next(message) } else { queue.put_queue(message) };
        }
        queue.set_state([1; 8]);
        queue.enable();
        Ok(())
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> headwater_streams::Result<()> {
        if queue.state()[0] == 1 { queue.forward_all() } else { Ok(()) }
    }
}

/// A stream whose first end hoards, and whose second does not wait.
fn hoarding() -> (Stream, Stream) {
    static KNOWN: std::sync::Once = std::sync::Once::new();
    KNOWN.call_once(|| register(Hoard).expect("a free name"));
    let (near, far) = pipe().expect("pipe");
    near.push("hoard").expect("known");
    far.set_nonblocking(true).expect("set");
    (near, far)
}

#[test]
fn a_file_whose_message_waits_in_a_module_s_queue_stays() {
    let (near, far) = hoarding();
    let (first, second) = (open("/proc/self/stat"), open("/dev/null"));
    near.files().send(first.as_fd()).expect("room");
    near.files().send(second.as_fd()).expect("room");
    // Each look that finds nothing arms the descriptor anew.
    for _ in 0..5 {
        assert_eq!(far.files().receive().expect_err("it waits").errno(), Errno::Again);
    }
    near.putmsg(Some(b"go"), None).expect("room");
    assert_eq!(inode(far.files().receive().expect("it came")).ok(), inode(&first).ok());
    assert_eq!(far.read(&mut [0]).expect_err("another file").errno(), Errno::Badmsg);
    assert_eq!(inode(far.files().receive().expect("it came")).ok(), inode(&second).ok());
    assert_eq!(far.files().receive().expect_err("that is all").errno(), Errno::Again);
    assert_eq!(polled(&far, libc::POLLIN, Duration::ZERO), 0);
}

#[test]
fn a_file_that_a_module_drops_does_not_keep_the_descriptor_readable() {
    let (near, far) = hoarding();
    let (first, second) = (open("/proc/self/stat"), open("/dev/null"));
    near.files().send(first.as_fd()).expect("room");
    assert_eq!(far.files().receive().expect_err("it waits").errno(), Errno::Again);
    near.pop().expect("pushed");
    for _ in 0..3 {
        assert_eq!(far.files().receive().expect_err("it was dropped").errno(), Errno::Again);
    }
    assert_eq!(polled(&far, libc::POLLIN, Duration::ZERO), 0);
    near.files().send(second.as_fd()).expect("room");
    assert_eq!(inode(far.files().receive().expect("it came")).ok(), inode(&second).ok());
}
