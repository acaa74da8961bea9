//! The events of the raw descriptor for pollers: readable when there is data, writable while there is room.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use headwater_streams::{Access, Errno, Events, Options, Stream, Told, pipe};

use crate::common::{child, fifo, in_own_process, open, polled};

pub const NOW: Duration = Duration::ZERO;
/// A notification that takes longer was forgotten.
pub const SOON: Duration = Duration::from_secs(5);

/// An epoll set over one descriptor.
pub struct Epoll(std::os::fd::OwnedFd);

impl Epoll {
    pub fn over(fd: RawFd, events: i32) -> Epoll {
        // SAFETY: epoll_create1 makes a descriptor that nothing else uses; the event is valid.
        unsafe {
            let set: std::os::fd::OwnedFd =
                std::os::fd::FromRawFd::from_raw_fd(libc::epoll_create1(libc::EPOLL_CLOEXEC));
            let mut event = libc::epoll_event { events: events as u32, u64: 0 };
            assert_eq!(libc::epoll_ctl(set.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event), 0);
            Epoll(set)
        }
    }

    /// The events within `timeout`; 0: none.
    pub fn wait(&self, timeout: Duration) -> i32 {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: room for one event.
        let count = unsafe { libc::epoll_wait(self.0.as_raw_fd(), &mut event, 1, timeout.as_millis() as i32) };
        if count == 1 { event.events as i32 } else { 0 }
    }
}

pub fn fill(stream: &Stream) -> usize {
    let mut written = 0;
    loop {
        match stream.write(&[7; 1000]) {
            Ok(count) => written += count,
            Err(error) if error.errno() == Errno::Again => return written,
            Err(error) => panic!("{error}"),
        }
    }
}

pub fn drain(stream: &Stream) -> usize {
    let (mut read, mut buffer) = (0, [0; 4096]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return read,
            Ok(count) => read += count,
            Err(error) if error.errno() == Errno::Again => return read,
            Err(error) => panic!("{error}"),
        }
    }
}

fn nonblocking(options: &Options) -> (Stream, Stream) {
    let (near, far) = options.pipe().expect("pipe");
    near.set_nonblocking(true).expect("set");
    far.set_nonblocking(true).expect("set");
    (near, far)
}

#[test]
fn the_descriptor_is_writable_while_there_is_room_and_not_longer() {
    let (near, far) = nonblocking(&Options::default());
    for _ in 0..100 {
        assert_eq!(polled(&near, libc::POLLOUT, NOW), libc::POLLOUT);
        assert!(fill(&near) > 60_000);
        assert_eq!(polled(&near, libc::POLLOUT, NOW), 0, "full");
        assert_eq!(far.read(&mut [0; 1000]).expect("there"), 1000);
        assert_eq!(polled(&near, libc::POLLOUT, NOW), 0, "above the low water mark");
        assert_eq!(polled(&far, libc::POLLIN, NOW), libc::POLLIN, "there is more to read");
        drain(&far);
        assert_eq!(polled(&far, libc::POLLIN, NOW), 0, "all was read");
    }
}

#[test]
fn room_is_an_edge_for_an_edge_triggered_poller() {
    let (near, far) = nonblocking(&Options::default());
    let edges = Epoll::over(near.as_fd().as_raw_fd(), libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET);
    assert_eq!(edges.wait(NOW), libc::EPOLLOUT);
    for _ in 0..100 {
        fill(&near);
        assert_eq!(edges.wait(NOW), 0, "no room, no event");
        drain(&far);
        assert_eq!(edges.wait(SOON), libc::EPOLLOUT);
        assert_eq!(edges.wait(NOW), 0, "told once");
    }
}

#[test]
fn a_message_is_an_edge_for_an_edge_triggered_poller() {
    let (near, far) = nonblocking(&Options::default());
    let edges = Epoll::over(far.as_fd().as_raw_fd(), libc::EPOLLIN | libc::EPOLLET);
    assert_eq!(edges.wait(NOW), 0);
    for _ in 0..100 {
        near.write(b"x").expect("room");
        assert_eq!(edges.wait(SOON), libc::EPOLLIN);
        near.write(b"y").expect("room");
        assert_eq!(drain(&far), 2);
        assert_eq!(edges.wait(NOW), 0);
    }
}

#[test]
fn a_message_is_an_edge_though_others_are_unread() {
    let (near, far) = nonblocking(&Options::default());
    let edges = Epoll::over(far.as_fd().as_raw_fd(), libc::EPOLLIN | libc::EPOLLET);
    let mut told = Told::default();
    for _ in 0..300 {
        near.write(b"xyz").expect("room");
        assert_eq!(far.prepare_edge(Events::IN, &mut told).expect("whole").fresh, Events::IN);
        // Told once, whether or not it is read.
        far.read(&mut [0]).expect("data");
        let _ = edges.wait(NOW);
        assert!(far.prepare_edge(Events::IN, &mut told).expect("whole").fresh.is_empty());
        assert_eq!(edges.wait(NOW), 0);
        near.write(b"z").expect("room");
        assert_eq!(edges.wait(SOON), libc::EPOLLIN, "unread data, and a new message");
        assert_eq!(far.prepare_edge(Events::IN, &mut told).expect("whole").fresh, Events::IN);
    }
    assert_eq!(drain(&far), 900);
    near.write(b"x").expect("room");
    assert_eq!(edges.wait(SOON), libc::EPOLLIN);
}

#[test]
fn a_refused_read_leaves_the_signal_of_room_alone() {
    let (near, far) = nonblocking(&Options::default());
    for _ in 0..100 {
        fill(&near);
        drain(&far);
        assert_eq!(near.read(&mut [0]).expect_err("nothing is there").errno(), Errno::Again);
        assert_eq!(polled(&near, libc::POLLIN | libc::POLLOUT, SOON), libc::POLLOUT);
        far.write(b"z").expect("room");
        fill(&near);
        assert_eq!(polled(&near, libc::POLLIN | libc::POLLOUT, SOON), libc::POLLIN);
        assert_eq!(drain(&near), 1);
        drain(&far);
    }
}

#[test]
fn data_from_before_shows_in_a_descriptor_that_becomes_nonblocking() {
    let (near, far) = pipe().expect("pipe");
    near.write(b"early").expect("room");
    far.set_nonblocking(true).expect("set");
    assert_eq!(polled(&far, libc::POLLIN, NOW), libc::POLLIN);
    assert_eq!(drain(&far), 5);
    assert_eq!(polled(&far, libc::POLLIN, NOW), 0);
    // After blocking reads, too.
    far.set_nonblocking(false).expect("set");
    for _ in 0..100 {
        near.write(b"early").expect("room");
        assert_eq!(far.read(&mut [0; 5]).expect("there"), 5);
    }
    near.write(b"late").expect("room");
    far.set_nonblocking(true).expect("set");
    assert_eq!(polled(&far, libc::POLLIN, NOW), libc::POLLIN);
    assert_eq!(drain(&far), 4);
    assert_eq!(polled(&far, libc::POLLIN, NOW), 0);
}

#[test]
fn what_one_reader_leaves_shows_to_another_process_though_the_first_dies() {
    in_own_process!();
    let (near, far) = nonblocking(&Options::default());
    near.write(b"0123456789").expect("room");
    let mut reader = child(|| {
        assert_eq!(far.read(&mut [0; 3])?, 3);
        headwater_os::child::kill_self()
    });
    assert!(!reader.wait().expect("wait").success());
    assert_eq!(polled(&far, libc::POLLIN, NOW), libc::POLLIN);
    assert_eq!(drain(&far), 7);
    assert_eq!(polled(&far, libc::POLLIN, NOW), 0);
}

#[test]
fn a_poll_for_either_sees_both_again_and_again() {
    // Small queues: both sides are refused all the time, and each waits for the first of both events.
    let (near, far) = nonblocking(&Options::new().hiwat(3000).lowat(1000));
    const TOTAL: usize = 2_000_000;
    let pump = |stream: Stream| {
        let (mut written, mut read, mut buffer) = (0, 0, [0; 700]);
        let start = Instant::now();
        while written < TOTAL || read < TOTAL {
            assert!(start.elapsed() < Duration::from_secs(60), "{written} written, {read} read");
            let wanted = if written < TOTAL { Events::IN | Events::OUT } else { Events::IN };
            let ready = stream.poll(wanted, Some(SOON)).expect("no error");
            assert!(!ready.is_empty(), "{written} written, {read} read: nothing in time");
            if ready.intersects(Events::IN) {
                read += stream.read(&mut buffer).expect("poll said so");
            }
            if ready.intersects(Events::OUT) && written < TOTAL {
                match stream.write(&[1; 900][..900.min(TOTAL - written)]) {
                    Ok(count) => written += count,
                    Err(error) => assert_eq!(error.errno(), Errno::Again),
                }
            }
        }
        stream
    };
    let other = std::thread::spawn(move || pump(far));
    pump(near);
    other.join().expect("no panic");
}

#[test]
fn a_writer_that_fills_the_stream_and_polls_for_either_hears_of_a_byte() {
    let (near, far) = pipe().expect("pipe");
    near.set_nonblocking(true).expect("set");
    let far = far;
    let peer = std::thread::spawn(move || {
        let mut buffer = [0; 40_000];
        for round in 0..300u64 {
            let mut left = 100_000;
            while left > 0 {
                left -= far.read(&mut buffer[..left.min(40_000)]).expect("no error");
            }
            // Sometimes the writer polls before the byte comes, at times after it.
            let pause = Instant::now();
            while pause.elapsed() < Duration::from_micros(round * 7 % 50) {
                std::hint::spin_loop();
            }
            far.write(b"!").expect("room");
        }
    });
    for round in 0..300 {
        let mut left = 100_000;
        let mut heard = false;
        while left > 0 || !heard {
            if left > 0 {
                match near.write(&[0; 9000][..left.min(9000)]) {
                    Ok(count) => left -= count,
                    Err(error) => assert_eq!(error.errno(), Errno::Again),
                }
            }
            heard |= near.read(&mut [0]).is_ok();
            if heard && left == 0 {
                break;
            }
            let wanted = if left > 0 { Events::IN | Events::OUT } else { Events::IN };
            let ready = near.poll(wanted, Some(SOON)).expect("no error");
            assert!(!ready.is_empty(), "round {round}: {left} left, heard: {heard}");
        }
    }
    peer.join().expect("no panic");
}

#[test]
fn to_become_nonblocking_again_leaves_a_fifo_s_writer_its_signal_of_room() {
    let (_directory, path) = fifo();
    let reader = open(&path, Access::Read).expect("open");
    let writer = open(&path, Access::Write).expect("open");
    for _ in 0..10 {
        fill(&writer);
        assert_eq!(polled(&writer, libc::POLLOUT, NOW), 0, "full");
        writer.set_nonblocking(true).expect("set");
        assert_eq!(polled(&writer, libc::POLLOUT, NOW), 0, "still full");
        drain(&reader);
        writer.set_nonblocking(true).expect("set");
        assert_eq!(polled(&writer, libc::POLLOUT, SOON), libc::POLLOUT, "room");
    }
}

#[test]
fn a_reader_that_reads_once_for_each_event_is_told_of_everything() {
    let (near, far) = nonblocking(&Options::new().hiwat(200).lowat(100));
    // Messages of 8 bytes, as many as there is time for on a loaded machine.
    const TOTAL: usize = 40_000;
    const LAST: u8 = 2;
    const TIME: Duration = Duration::from_secs(3);
    // Bytes written, bytes read.
    let progress = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let seen = progress.clone();
    let writer = std::thread::spawn(move || {
        let start = Instant::now();
        for count in (1..=TOTAL).take_while(|count| count % 30 > 0 || start.elapsed() < TIME) {
            while let Err(error) = near.write(&[1; 8]) {
                assert_eq!(error.errno(), Errno::Again);
                std::thread::yield_now();
            }
            seen[0].store(8 * count, Ordering::Release);
            // No later write notifies the reader of this one.
            while count % 30 == 0 && seen[1].load(Ordering::Acquire) < 8 * count {
                std::thread::yield_now();
            }
        }
        while near.write(&[LAST]).is_err() {
            std::thread::yield_now();
        }
        seen[0].fetch_add(1, Ordering::AcqRel);
        // Not closed: that is an event too.
        near
    });
    let [written, read] = &*progress;
    let (mut count, mut got) = (0, [0; 24]);
    loop {
        // Never until it is refused: a level is reported as long as there is data.
        while polled(&far, libc::POLLIN, SOON) != libc::POLLIN {
            // The writer may wait for a CPU.
            let written = written.load(Ordering::Acquire);
            let told = written == count || polled(&far, libc::POLLIN, NOW) == libc::POLLIN;
            assert!(told, "{count} of {written} bytes read, and nothing is told");
        }
        match far.read(&mut got) {
            Ok(bytes) => {
                count += bytes;
                if got[..bytes].contains(&LAST) {
                    break;
                }
            }
            Err(error) => assert_eq!(error.errno(), Errno::Again),
        }
        read.store(count, Ordering::Release);
    }
    let _near = writer.join().expect("no panic");
    assert_eq!(count, written.load(Ordering::Acquire));
}
