//! An end that is closed while other threads wait on it.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use headwater_streams::modules::testmod::ioctl::IGNORE;
use headwater_streams::{
    Access, Errno, Error, Events, Fifo, FifoOptions, Flush, IoctlTimeout, Options, Policy, Priority, Stream, pipe,
};

use crate::common::{calm, in_own_process, within};

/// The error with which each of these calls ends, made by threads of their own, when `end` is closed.
fn ended_by_close(end: Stream, calls: Vec<Box<dyn FnOnce(Stream) -> Error + Send>>, pause: Duration) -> Vec<Errno> {
    let threads: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let clone = end.clone();
            std::thread::spawn(move || call(clone))
        })
        .collect();
    std::thread::sleep(pause);
    end.close().expect("close");
    threads.into_iter().map(|thread| thread.join().expect("no panic").errno()).collect()
}

/// Writes until a write fails.
fn fill(end: Stream) -> Error {
    loop {
        if let Err(error) = end.write(&[0; 100]) {
            return error;
        }
    }
}

#[test]
fn a_close_ends_the_calls_of_other_threads_and_the_other_end_sees_it_at_once() {
    in_own_process!();
    // While they spin, on the futex, and on the descriptor.
    for pause in [0, 1, 5, 80].map(Duration::from_millis) {
        let small = Options::new().hiwat(1000).lowat(500);
        let (near, far) = small.pipe().expect("pipe");
        let left = far.clone();
        let read = |end: Stream| end.read(&mut [0; 8]).expect_err("closed");
        let poll = |end: Stream| loop {
            if let Err(error) = end.poll(Events::IN, Some(Duration::from_secs(20))) {
                return error;
            }
        };
        let errors = ended_by_close(far, vec![Box::new(read), Box::new(fill), Box::new(poll), Box::new(read)], pause);
        assert_eq!(errors, [Errno::Badf; 4], "after {pause:?}");
        assert!(near.write(b"x").is_err_and(|error| error.errno() == Errno::Pipe), "the clone that is left is no end");
        let mut rest = vec![0; 1 << 20];
        while near.read(&mut rest).expect("what was written, and then the end") > 0 {}
        assert_eq!(left.write(b"x").expect_err("closed").errno(), Errno::Badf);
        assert_eq!(left.read(&mut [0]).expect_err("closed").errno(), Errno::Badf);
        assert_eq!(left.close().expect_err("closed before").errno(), Errno::Badf);
    }
}

#[test]
fn a_close_is_seen_by_a_peer_that_sleeps() {
    let (near, far) = pipe().expect("pipe");
    let left = far.clone();
    let reader = std::thread::spawn(move || near.read(&mut [0; 8]));
    std::thread::sleep(Duration::from_millis(60));
    far.close().expect("close");
    let begin = Instant::now();
    assert_eq!(reader.join().expect("no panic").expect("the end"), 0);
    assert!(begin.elapsed() < Duration::from_secs(5));
    drop(left);
}

#[test]
fn a_closed_end_s_number_is_not_given_to_another_file_before_the_last_clone_is_dropped() {
    in_own_process!();
    let (_near, far) = pipe().expect("pipe");
    let left = far.clone();
    let number = left.as_fd().as_raw_fd();
    far.close().expect("close");
    let others: Vec<Stream> = (0..20).map(|_| pipe().expect("pipe").0).collect();
    assert!(others.iter().all(|other| other.as_fd().as_raw_fd() != number));
    drop(left);
    let (first, second) = pipe().expect("pipe");
    assert!([first, second].iter().any(|end| end.as_fd().as_raw_fd() <= number), "the number is free again");
}

#[test]
fn another_process_s_copy_keeps_the_end_open() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    let (go, wait) = pipe().expect("pipe");
    let mut child = crate::common::child(|| {
        wait.read(&mut [0])?;
        far.write(b"still here")?;
        Ok(())
    });
    far.close().expect("close");
    go.write(b"!").expect("room");
    let mut text = [0; 16];
    assert_eq!(near.read(&mut text).expect("from the child"), 10);
    child.wait().expect("wait");
    assert_eq!(near.read(&mut text).expect("the end"), 0);
}

#[test]
fn a_fifo_s_ends_are_closed_while_others_wait() {
    in_own_process!();
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("fifo");
    Fifo::create(&path, 0o600).expect("mkfifo");
    for pause in [1, 80].map(Duration::from_millis) {
        let small = Options::new().hiwat(1000).lowat(500);
        let reader = FifoOptions::new().nonblocking(true).stream(small).open(&path, Access::Read).expect("a reader");
        let writer = Fifo::open(&path, Access::Write).expect("a writer");
        reader.set_nonblocking(false).expect("set");
        let left = writer.clone();
        assert_eq!(ended_by_close(writer, vec![Box::new(fill)], pause), [Errno::Badf]);
        let mut rest = vec![0; 1 << 20];
        while reader.read(&mut rest).expect("what was written, and then the end") > 0 {}
        let writer = Fifo::open(&path, Access::Write).expect("another writer");
        let read = |end: Stream| end.read(&mut [0; 8]).expect_err("closed");
        assert_eq!(ended_by_close(reader, vec![Box::new(read)], pause), [Errno::Badf]);
        assert_eq!(writer.write(b"x").expect_err("nobody reads").errno(), Errno::Pipe);
        drop(left);
    }
}

#[test]
fn a_close_ends_an_ioctl_that_nobody_answers() {
    in_own_process!();
    within(Duration::from_secs(20), "a close ends an ioctl".into());
    for pause in [1, 200].map(Duration::from_millis) {
        let (_near, far) = pipe().expect("pipe");
        far.push("testmod").expect("push");
        let data = |end: Stream| end.ioctl(IGNORE, &mut Vec::new(), IoctlTimeout::Never).expect_err("closed");
        let argument = |end: Stream| end.transparent_ioctl(IGNORE, 0, &mut Vec::new()).expect_err("closed");
        let by_hand =
            |end: Stream| end.clone().ioctl(IGNORE, &mut Vec::new(), IoctlTimeout::Never).expect_err("closed");
        let calls: Vec<Box<dyn FnOnce(Stream) -> Error + Send>> =
            vec![Box::new(data), Box::new(argument), Box::new(by_hand)];
        assert_eq!(ended_by_close(far, calls, pause), [Errno::Badf; 3], "after {pause:?}");
    }
    calm();
}

#[test]
fn calls_that_wait_for_nothing_fail_after_a_close_too() {
    let (near, far) = pipe().expect("pipe");
    let (other, _) = pipe().expect("pipe");
    let (socket, _peer) = std::os::unix::net::UnixStream::pair().expect("sockets");
    let left = far.clone();
    far.close().expect("close");
    let flush = Flush::ALL;
    let errors = [
        left.putmsg_naming(&[0; 16], Some(b"x"), Priority::NORMAL, &other, 0),
        left.flush_queues(flush),
        left.set_nonblocking(true),
        left.send_over(&socket),
    ];
    assert_eq!(errors.map(|done| done.expect_err("closed").errno()), [Errno::Badf; 4]);
    assert_eq!(near.read(&mut [0; 8]).expect("the end"), 0, "nothing was sent");
}

#[test]
fn the_other_end_sees_the_close_of_an_end_that_others_sleep_on() {
    in_own_process!();
    for writes in [false, true] {
        for round in 0..10 {
            let (near, far) = Options::new().hiwat(1000).lowat(500).pipe().expect("pipe");
            near.set_nonblocking(true).expect("set");
            let waiting = far.clone();
            let thread =
                std::thread::spawn(
                    move || {
                        if writes { fill(waiting) } else { waiting.read(&mut [0; 8]).expect_err("closed") }
                    },
                );
            // Longer than on the futex: it sleeps on the descriptor.
            std::thread::sleep(Duration::from_millis(80));
            far.close().expect("close");
            let error = near.write(b"x").expect_err("gone");
            assert_eq!(error.errno(), Errno::Pipe, "writes: {writes}, round {round}");
            let mut rest = vec![0; 1 << 20];
            while near.read(&mut rest).expect("what was written, and then the end") > 0 {}
            assert_eq!(thread.join().expect("no panic").errno(), Errno::Badf);
        }
    }
}

#[test]
fn what_a_write_beside_a_close_has_reported_is_read() {
    in_own_process!();
    within(Duration::from_secs(60), "writes beside a close".into());
    for round in 0..300 {
        let (near, far) = pipe().expect("pipe");
        let sent = AtomicU64::new(0);
        let read = std::thread::scope(|scope| {
            for size in [10, 3000] {
                let (end, sent) = (far.clone(), &sent);
                scope.spawn(move || {
                    while let Ok(count) = end.write(&vec![1; size]) {
                        sent.fetch_add(count as u64, Ordering::Relaxed);
                    }
                });
            }
            let reader = scope.spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                let mut read = 0;
                loop {
                    match near.read(&mut buffer).expect("what was written, and then the end") {
                        0 => break read,
                        count => read += count as u64,
                    }
                }
            });
            std::thread::sleep(Duration::from_micros(37 * round % 1500));
            far.close().expect("close");
            reader.join().expect("no panic")
        });
        // A write that was ended may have sent a part.
        assert!(read >= sent.into_inner(), "round {round}: {read} bytes read");
    }
    calm();
}

#[test]
fn a_close_ends_calls_that_wait_for_what_another_handle_has_lent_out() {
    in_own_process!();
    within(Duration::from_secs(20), "a close beside what is lent out".into());
    for pause in [0, 1, 30].map(Duration::from_millis) {
        let (near, far) = pipe().expect("pipe");
        let (mut writer, mut reader) = (far.direct(), far.direct());
        near.write(b"x").expect("room");
        let place = writer.reserve(100).expect("room");
        let message = reader.borrow().expect("no error").expect("there");
        let calls: Vec<Box<dyn FnOnce(Stream) -> Error + Send>> = vec![
            Box::new(|end: Stream| end.write(b"y").expect_err("closed")),
            Box::new(|end: Stream| end.direct().write(b"y").expect_err("closed")),
            Box::new(|end: Stream| end.read(&mut [0; 8]).expect_err("closed")),
            Box::new(|end: Stream| end.direct().read(&mut [0; 8]).expect_err("closed")),
            Box::new(|end: Stream| end.push("nullmod").expect_err("closed")),
        ];
        let begin = Instant::now();
        assert_eq!(ended_by_close(far, calls, pause), [Errno::Badf; 5], "after {pause:?}");
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        drop((place, message));
    }
    calm();
}

#[test]
fn a_handle_by_hand_does_nothing_after_a_close() {
    for (policy, modules) in [
        (Policy::DEFAULT, &[][..]),
        (Policy::DEFAULT, &["nullmod"]),
        (Policy::DEFAULT, &["testmod"]),
        (Policy::EAGER, &[]),
    ] {
        let (near, far) = Options::new().policy(policy).pipe().expect("pipe");
        modules.iter().for_each(|name| far.push(name).expect("known"));
        let by_hand = far.clone();
        near.write(&[1; 100]).expect("room");
        // The fast paths are open by then.
        for _ in 0..200 {
            by_hand.write(b"before").expect("room");
            by_hand.read(&mut [0]).map(drop).unwrap_or_else(|error| panic!("{error}"));
            near.write(b"x").expect("room");
            assert_eq!(near.read(&mut [0; 100]).expect("there"), 6);
        }
        far.close().expect("close");
        let errors = [by_hand.write(b"after").expect_err("closed"), by_hand.read(&mut [0]).expect_err("closed")];
        assert_eq!(errors.map(|error| error.errno()), [Errno::Badf; 2], "{policy:?} {modules:?}");
        assert_eq!(near.read(&mut [0; 100]).expect("the end"), 0, "{policy:?} {modules:?}");
    }
}
