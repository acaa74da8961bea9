//! Drivers with open files of their own: a driver over a datagram socket, whose messages go out by the socket and whose
//! datagrams come up, in every process and every form of waiting.

use crate::common;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::common::{
    Interruptible, Random, calm, child, extent, in_own_process, joined, polled, private_directory, within,
};
use crate::datagrams::{Delay, HOLD, Line, READS, know, line, paths};
use headwater_os::child::Child;
use headwater_streams::{Device, DeviceOptions, Errno, Events, Options, ReadMode, ReadOptions, Stream, register};

const PATIENCE: Duration = Duration::from_secs(20);

fn text(stream: &Stream) -> String {
    let mut bytes = [0; 2000];
    let count = stream.read(&mut bytes).expect("no error");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

/// This thread and those that it has started, which have its name; other tests' threads come and go.
fn threads() -> usize {
    let name = |path| std::fs::read_to_string(path).unwrap_or_default();
    let own = name("/proc/thread-self/comm".into());
    let tasks = std::fs::read_dir("/proc/self/task").expect("/proc").flatten();
    tasks.filter(|task| name(task.path().join("comm")) == own).count()
}

#[test]
fn messages_go_out_and_a_waiting_reader_gets_what_comes() {
    in_own_process!();
    within(PATIENCE, "a reader waits at a driver's socket".to_owned());
    let before = common::open_things();
    let Line { stream, peer, _directory } = line(65536);
    stream.write(b"out").expect("room");
    let mut bytes = [0; 16];
    assert_eq!(peer.recv(&mut bytes).expect("sent"), 3);
    for delay_ms in [0, 1, 30, 100] {
        let sender = peer.try_clone().expect("dup");
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(delay_ms));
            sender.send(b"in").expect("connected")
        });
        assert_eq!(text(&stream), "in", "after {delay_ms} ms");
        thread.join().expect("sent");
    }
    peer.send(b"polled").expect("connected");
    assert_eq!(stream.poll(Events::IN, None).expect("poll"), Events::IN);
    assert_eq!(text(&stream), "polled");
    assert!(stream.poll(Events::IN, Some(Duration::from_millis(20))).expect("poll").is_empty());
    drop((stream, peer));
    common::expect_nothing_left(before);
    calm();
}

#[test]
fn a_reader_that_is_behind_stops_the_socket_and_nothing_spins() {
    in_own_process!();
    within(PATIENCE, "a full stream over a socket".to_owned());
    let Line { stream, peer, _directory } = line(2000);
    peer.set_nonblocking(true).expect("a socket");
    let mut sent = 0;
    // The stream takes what its queue holds, then the socket is full.
    while sent < 10_000 {
        match peer.send(format!("{sent:0100}").as_bytes()) {
            Ok(_) => sent += 1,
            Err(_) if !stream.poll(Events::WRBAND, Some(Duration::ZERO)).expect("poll").is_empty() => {}
            Err(_) => break,
        }
    }
    for _ in 0..5 {
        stream.poll(Events::default(), Some(Duration::ZERO)).expect("it looks at the socket");
    }
    let (count, _) = stream.nread().expect("no error");
    assert!(count > 0);
    let reads = READS.load(Ordering::Relaxed);
    // No process reads the socket while the reader is behind, and a waiter for other events does not spin.
    let begun = (Instant::now(), cpu_time());
    assert!(stream.poll(Events::PRI, Some(Duration::from_millis(200))).expect("poll").is_empty());
    assert!(cpu_time() - begun.1 < begun.0.elapsed() / 4, "{:?} of {:?}", cpu_time() - begun.1, begun.0.elapsed());
    assert_eq!(READS.load(Ordering::Relaxed), reads);
    let mut got = 0;
    let mut buffer = [0; 100];
    while got < sent {
        assert_eq!(stream.read(&mut buffer).expect("there"), 100);
        assert_eq!(std::str::from_utf8(&buffer).expect("digits").parse::<u32>().expect("a number"), got);
        got += 1;
    }
    calm();
}

fn cpu_time() -> Duration {
    // SAFETY: all zeros is a value, which the call fills in.
    let time = unsafe {
        let mut time = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time);
        time
    };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn a_writer_waits_for_room_in_the_socket() {
    in_own_process!();
    within(PATIENCE, "a writer waits for a driver's socket".to_owned());
    let Line { stream, peer, _directory } = line(65536);
    const COUNT: u32 = 3000;
    let reader = std::thread::spawn(move || {
        let mut buffer = [0; 2000];
        for number in 0..COUNT {
            let count = peer.recv(&mut buffer).expect("sent");
            assert_eq!(
                std::str::from_utf8(&buffer[..count]).expect("digits").parse::<u32>().expect("a number"),
                number
            );
            if number % 500 == 0 {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    });
    for number in 0..COUNT {
        stream.putmsg(None, Some(format!("{number:0500}").as_bytes())).expect("room, in the end");
    }
    // Messages in the driver's queue are sent while a process waits at the stream.
    while !reader.is_finished() {
        stream.poll(Events::PRI, Some(Duration::from_millis(10))).expect("poll");
    }
    reader.join().expect("all came in order");
    calm();
}

#[test]
fn a_raw_poll_is_told_by_a_thread_that_a_refused_call_has_started() {
    in_own_process!();
    within(PATIENCE, "a foreign event loop at a driver's socket".to_owned());
    let before = (common::open_things(), threads());
    let Line { stream, peer, _directory } = line(2000);
    stream.set_nonblocking(true).expect("arm");
    let mut buffer = [0; 2000];
    assert_eq!(stream.read(&mut buffer).expect_err("empty").errno(), Errno::Again);
    for round in 0..200 {
        assert_eq!(polled(&stream, libc::POLLIN, Duration::ZERO) & libc::POLLIN, 0, "round {round}");
        peer.send(format!("{round}").as_bytes()).expect("connected");
        assert_eq!(
            polled(&stream, libc::POLLIN, Duration::from_secs(10)) & libc::POLLIN,
            libc::POLLIN,
            "round {round}"
        );
        assert_eq!(text(&stream), format!("{round}"));
        assert_eq!(stream.read(&mut buffer).expect_err("empty").errno(), Errno::Again);
    }
    // Full: the thread sends on when the socket has room, and the descriptor tells.
    let mut written = 0;
    while stream.putmsg(None, Some(&[7; 400])).is_ok() {
        written += 1;
    }
    assert_eq!(polled(&stream, libc::POLLOUT, Duration::ZERO) & libc::POLLOUT, 0);
    for _ in 0..written {
        assert_eq!(peer.recv(&mut buffer).expect("sent by the thread"), 400);
    }
    assert_eq!(polled(&stream, libc::POLLOUT, Duration::from_secs(10)) & libc::POLLOUT, libc::POLLOUT);
    stream.write(b"x").expect("room");
    drop((stream, peer));
    // The thread may have the stream for a moment longer.
    while (common::open_things(), threads()) != before {
        std::thread::sleep(Duration::from_millis(1));
    }
    calm();
}

#[test]
fn processes_that_had_the_stream_before_get_the_socket_too() {
    in_own_process!();
    within(PATIENCE, "a socket that is opened after a fork".to_owned());
    know();
    let directory = tempfile::tempdir().expect("a directory");
    let (own, other) = (directory.path().join("own"), directory.path().join("peer"));
    let bind = || {
        let _ = std::fs::remove_file(&other);
        let peer = UnixDatagram::bind(&other).expect("bind");
        peer.set_read_timeout(Some(PATIENCE)).expect("a socket");
        peer
    };
    let stream = Device::open_private("datagrams").expect("known");
    for round in 0..3 {
        let peer = bind();
        // The child sleeps in a read before the socket is there.
        let reader = child(|| {
            assert_eq!(text(&stream), "for the child");
            stream.write(b"got it").map(drop)
        });
        std::thread::sleep(Duration::from_millis(60));
        stream.putmsg(Some(paths(&own, &other).as_bytes()), None).expect("room");
        peer.connect(&own).expect("connect");
        let begun = Instant::now();
        peer.send(b"for the child").expect("connected");
        let mut buffer = [0; 16];
        assert_eq!(peer.recv(&mut buffer).expect("the child has answered"), 6, "round {round}");
        // Notified at once, and not found by a periodic check.
        assert!(begun.elapsed() < Duration::from_millis(600), "round {round}: {:?}", begun.elapsed());
        joined(reader);
        // Another socket: the old one is closed everywhere.
        stream.putmsg(Some(b""), None).expect("room");
        std::fs::remove_file(&own).expect("it was bound");
    }
    // And one that was passed on, and is found again among the descriptors.
    let peer = bind();
    let (near, far) = std::os::unix::net::UnixStream::pair().expect("pair");
    stream.putmsg(Some(paths(&own, &other).as_bytes()), None).expect("room");
    peer.connect(&own).expect("connect");
    stream.send_over(&near).expect("send");
    drop(stream);
    let stream = Device::receive_over("datagrams", &far).expect("a device");
    peer.send(b"passed").expect("connected");
    assert_eq!(text(&stream), "passed");
    let again = Stream::from_fd(stream.as_fd().try_clone_to_owned().expect("dup")).expect("all five are there");
    peer.send(b"found").expect("connected");
    assert_eq!(text(&again), "found");
    drop((stream, again));
    assert!(peer.send(b"nobody").is_err(), "the last copy of the socket is closed");
    calm();
}

#[test]
fn an_open_by_name_gets_the_socket() {
    in_own_process!();
    within(PATIENCE, "a socket of a device that is opened again".to_owned());
    know();
    let directory = private_directory();
    let (own, other) = (directory.path().join("own"), directory.path().join("peer"));
    let devices: PathBuf = directory.path().join("devices");
    let peer = UnixDatagram::bind(&other).expect("bind");
    let options = DeviceOptions::new().minor(3).directory(devices);
    let first = options.open("datagrams").expect("free");
    first.putmsg(Some(paths(&own, &other).as_bytes()), None).expect("room");
    peer.connect(&own).expect("connect");
    let second = options.open("datagrams").expect("the same");
    drop(first);
    peer.send(b"one").expect("connected");
    assert_eq!(text(&second), "one");
    calm();
}

#[test]
fn many_readers_in_several_processes_lose_no_wake_up() {
    in_own_process!();
    let rounds = extent("HEADWATER_ROUNDS", 100) as u32;
    let Line { stream, peer, _directory } = line(4000);
    stream.settings().set_read_options(ReadOptions::new().mode(ReadMode::MessageKeep)).expect("known");
    within(
        PATIENCE + Duration::from_millis(u64::from(rounds) * 10),
        "readers and a writer in processes and threads".to_owned(),
    );
    let (source, sink) = std::io::pipe().expect("pipe");
    // Each reads its messages and reports them, by blocking calls, by polls, and by an event loop.
    let mut readers: Vec<Child> = (0..3)
        .map(|form| {
            child(|| {
                let mut random = Random(form);
                if form == 2 {
                    stream.set_nonblocking(true)?;
                }
                loop {
                    let mut bytes = [0; 8];
                    match form {
                        0 => {}
                        1 => drop(stream.poll(Events::IN, None)?),
                        _ => drop(polled(&stream, libc::POLLIN, Duration::MAX)),
                    }
                    match stream.read(&mut bytes) {
                        Ok(4) => (&sink).write_all(&bytes[..4])?,
                        Ok(count) => panic!("{count} bytes"),
                        Err(error) => assert_eq!(error.errno(), Errno::Again),
                    }
                    if random.one_in(3) {
                        std::thread::sleep(Duration::from_micros(random.below(300) as u64));
                    }
                }
            })
        })
        .collect();
    let mut random = Random(7);
    let mut sent = 0u32;
    for _ in 0..rounds {
        let burst = 1 + random.below(3) as u32;
        for number in sent..sent + burst {
            peer.send(&number.to_le_bytes()).expect("connected");
        }
        let mut got: Vec<u32> = (0..burst)
            .map(|_| {
                let mut bytes = [0; 4];
                (&source).read_exact(&mut bytes).expect("one of them has it");
                u32::from_le_bytes(bytes)
            })
            .collect();
        got.sort_unstable();
        assert_eq!(got, (sent..sent + burst).collect::<Vec<_>>());
        sent += burst;
        if random.one_in(4) {
            // All of them are asleep.
            std::thread::sleep(Duration::from_micros(random.below(3000) as u64));
        }
    }
    readers.iter_mut().for_each(|reader| {
        reader.kill();
        reader.wait().expect("wait");
    });
    calm();
}

#[test]
fn a_signal_ends_the_wait_at_a_socket() {
    in_own_process!();
    within(PATIENCE, "a signal ends a wait at a driver's socket".to_owned());
    let Line { stream, peer, _directory } = line(4000);
    let reader = Interruptible::start(move || stream.read(&mut [0; 8]));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(reader.end(Duration::from_millis(10)).expect_err("interrupted").errno(), Errno::Intr);
    drop(peer);
    calm();
}

#[test]
fn a_timeout_is_called_by_who_waits_at_the_stream_in_time() {
    in_own_process!();
    within(PATIENCE, "a module's timeout".to_owned());
    register(Delay).expect("new");
    let (near, far) = headwater_streams::pipe().expect("pipe");
    near.push("delay").expect("known");
    for waits_before in [false, true] {
        for in_child in [false, true] {
            let begun = Instant::now();
            let write = || {
                if waits_before {
                    // The reader sleeps by then.
                    std::thread::sleep(Duration::from_millis(100));
                }
                near.write(b"held").map(drop)
            };
            let read = || {
                assert_eq!(text(&far), "held");
                let least = HOLD + if waits_before { Duration::from_millis(100) } else { Duration::ZERO };
                let took = begun.elapsed();
                assert!(
                    took >= least - Duration::from_millis(1) && took < least + Duration::from_millis(600),
                    "{took:?}"
                );
            };
            if in_child {
                let writer = child(write);
                if !waits_before {
                    std::thread::sleep(Duration::from_millis(20));
                }
                read();
                joined(writer);
            } else {
                std::thread::scope(|scope| {
                    scope.spawn(write);
                    read();
                });
            }
        }
    }
    // No process waits: the next waiter calls it.
    near.write(b"held").expect("room");
    std::thread::sleep(2 * HOLD);
    assert_eq!(far.nread().expect("it calls it"), (4, 1));
    calm();
}

/// Writes as much as the driver queues, without waiting.
fn fill(stream: &Stream) -> u32 {
    stream.set_nonblocking(true).expect("arm");
    let mut count = 0;
    while stream.putmsg(None, Some(&[count as u8; 300])).is_ok() {
        count += 1;
    }
    stream.set_nonblocking(false).expect("wait");
    count
}

#[test]
fn the_last_close_waits_until_the_driver_has_sent_what_it_holds() {
    in_own_process!();
    within(PATIENCE, "a device is closed while its socket is full".to_owned());
    let full = || {
        let Line { stream, peer, _directory } = line(4000);
        let stream = stream;
        let count = fill(&stream);
        (stream, peer, count, _directory)
    };
    let took = |stream: Stream| {
        let begun = Instant::now();
        stream.drain();
        begun.elapsed()
    };
    let read_all = |peer: &UnixDatagram, count: u32| {
        let mut buffer = [0; 400];
        for number in 0..count {
            assert_eq!(peer.recv(&mut buffer).expect("sent"), 300);
            assert_eq!(buffer[0], number as u8, "in order");
        }
    };
    // No call is refused, so the library has no thread: the close itself serves the socket. What it holds beside the socket is
    // less than the driver queues.
    let count = full().2 - 8;
    let Line { stream, peer, _directory } = line(65536);
    (0..count).for_each(|number| stream.putmsg(None, Some(&[number as u8; 300])).expect("room"));
    let (stream, before) = (stream, threads());
    let reader = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        read_all(&peer, count);
    });
    assert_eq!(threads(), before + 1);
    let time = took(stream);
    assert!(time >= Duration::from_millis(90) && time < Duration::from_secs(10), "{time:?}");
    reader.join().expect("nothing is lost");
    // No longer than it was told.
    let (stream, _peer, _, _directory) = full();
    stream.settings().set_close_time(Duration::from_millis(80)).expect("short");
    let time = took(stream);
    assert!(time >= Duration::from_millis(80) && time < Duration::from_secs(5), "{time:?}");
    // A handle that does not wait, and one that is not the last.
    let (stream, _peer, _, _directory) = full();
    stream.set_nonblocking(true).expect("arm");
    assert!(took(stream) < Duration::from_secs(2));
    let (stream, _peer, _, _directory) = full();
    let another = stream.direct();
    assert!(took(stream) < Duration::from_secs(2));
    drop(another);
    calm();
}

#[test]
fn the_last_close_waits_until_the_partner_has_room() {
    in_own_process!();
    within(PATIENCE, "a loop is closed while its partner is behind".to_owned());
    let directory = private_directory();
    let open = |minor| {
        let stream = Options::new().hiwat(2000).lowat(500).maxpsz(500);
        DeviceOptions::new().minor(minor).directory(directory.path()).stream(stream).open("loop")
    };
    for is_killed in [false, true] {
        let mut reader = child(|| {
            let stream = open(1)?;
            stream.write(b"here")?;
            std::thread::sleep(Duration::from_millis(100));
            if is_killed {
                headwater_os::child::kill_self();
            }
            let (mut read, mut buffer) = (0, [0; 300]);
            while let count @ 1.. = stream.read(&mut buffer)? {
                read += count;
            }
            stream.clone().drain();
            // All that was written: more than the one queue holds.
            assert!(read > 5000 && read % 300 == 0, "{read} bytes");
            Ok(())
        });
        let stream = open(0).expect("free");
        assert_eq!(stream.read(&mut [0; 8]).expect("the partner is there"), 4);
        fill(&stream);
        let begun = Instant::now();
        stream.drain();
        assert!(begun.elapsed() >= Duration::from_millis(50) && begun.elapsed() < Duration::from_secs(10));
        assert_eq!(reader.wait().expect("wait").success(), !is_killed);
    }
    calm();
}
