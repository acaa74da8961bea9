//! A pipe among processes: fork, dup, exec, sockets; and that nothing is left when they have ended.

use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::{Errno, Stream, pipe};

use crate::common::{Interruptible, child, in_own_process, joined, read_all};

#[test]
fn a_forked_child_writes_and_its_parent_reads() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    // Used before the fork: the child must not take itself for the parent.
    near.write(b"parent ").expect("room");
    let writer = child(|| near.write(b"child ").map(drop));
    joined(writer);
    near.write(b"parent").expect("room");
    drop(near);
    assert_eq!(read_all(&far), b"parent child parent");
}

#[test]
fn many_processes_share_an_end() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    const EACH: usize = 3000;
    let writers: Vec<Child> =
        (0..4u8).map(|number| child(|| (0..EACH).try_for_each(|_| near.write(&[number; 100]).map(drop)))).collect();
    drop(near);
    let all = read_all(&far);
    writers.into_iter().for_each(joined);
    // A write of so few bytes is not mixed with other writes.
    let mut counts = [0; 4];
    for message in all.chunks(100) {
        assert!(message.iter().all(|byte| *byte == message[0]), "{message:?}");
        counts[usize::from(message[0])] += 1;
    }
    assert_eq!(counts, [EACH; 4]);
}

#[test]
fn readers_share_what_is_written() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    let (mut near, mut far) = (Some(near), Some(far));
    let report = UnixStream::pair().expect("pair");
    let readers: Vec<Child> = (0..3)
        .map(|_| {
            child(|| {
                // Our own copy of the writing end would keep us waiting for ever.
                drop(near.take());
                let far = far.take().expect("there");
                let total = read_all(&far).len() as u64;
                std::io::Write::write_all(&mut &report.0, &total.to_le_bytes())?;
                Ok(())
            })
        })
        .collect();
    drop(far);
    let near = near.expect("there");
    for _ in 0..20_000 {
        near.write(&[1; 50]).expect("readers live");
    }
    drop(near);
    let mut total = 0;
    for _ in 0..3 {
        let mut bytes = [0; 8];
        std::io::Read::read_exact(&mut &report.1, &mut bytes).expect("each reports");
        total += u64::from_le_bytes(bytes);
    }
    readers.into_iter().for_each(joined);
    assert_eq!(total, 1_000_000);
}

#[test]
fn threads_share_an_end_by_handles_of_their_own() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    std::thread::scope(|scope| {
        for number in 0..3u8 {
            let mut near = near.direct();
            scope.spawn(move || (0..10_000).for_each(|_| assert_eq!(near.write(&[number; 8]).expect("room"), 8)));
        }
        drop(near);
        assert_eq!(read_all(&far).len(), 3 * 10_000 * 8);
    });
}

/// Not a test of its own: what [`an_end_survives_exec`] starts.
#[test]
fn after_exec() {
    let Ok(number) = std::env::var("STREAM_NUMBER") else { return };
    let stream = Stream::from_number(number.parse().expect("a number")).expect("it was kept");
    let mut request = [0; 16];
    let count = stream.read(&mut request).expect("the parent writes");
    request[..count].reverse();
    stream.write(&request[..count]).expect("the parent reads");
}

#[test]
fn an_end_survives_exec() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    far.set_inheritable(true).expect("fcntl");
    near.write(b"abc").expect("room");
    let mut command = Command::new(std::env::current_exe().expect("our own path"));
    command
        .args(["--exact", "pipes::after_exec", "--nocapture"])
        .env("STREAM_NUMBER", far.as_fd().as_raw_fd().to_string());
    let mut started = command.stdout(std::process::Stdio::null()).spawn().expect("exec");
    drop(far);
    assert_eq!(read_all(&near), b"cba");
    assert!(started.wait().expect("wait").success());
}

#[test]
fn an_end_goes_over_a_socket() {
    in_own_process!();
    let (here, there) = UnixStream::pair().expect("pair");
    let (near, far) = pipe().expect("pipe");
    let taker = child(|| {
        let stream = Stream::receive_over(&there)?;
        stream.write(b"from the other side").map(drop)
    });
    far.send_over(&here).expect("send");
    drop((far, there));
    assert_eq!(read_all(&near), b"from the other side");
    joined(taker);
}

#[test]
fn a_duplicate_is_another_handle_of_the_same_end() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    let copy = Stream::from_fd(far.as_fd().try_clone_to_owned().expect("dup")).expect("the memory is open");
    drop(far);
    near.write(b"x").expect("somebody is there");
    assert_eq!(copy.read(&mut [0; 8]).expect("there"), 1);
    let later = copy.as_fd().try_clone_to_owned().expect("dup");
    drop((near, copy));
    assert_eq!(Stream::from_fd(later).expect_err("the memory is closed").errno(), Errno::Nostr);
}

#[test]
fn another_descriptor_is_no_stream() {
    in_own_process!();
    let file = std::fs::File::open("/dev/null").expect("open");
    assert_eq!(Stream::from_fd(file.into()).expect_err("no stream").errno(), Errno::Nostr);
    assert_eq!(Stream::from_number(123_456).expect_err("nothing").errno(), Errno::Badf);
    let (socket, _other) = headwater_os::doorbell::Doorbell::pair().expect("pair");
    let copy = socket.as_fd().try_clone_to_owned().expect("dup");
    assert_eq!(Stream::from_fd(copy).expect_err("no memory").errno(), Errno::Nostr);
}

#[test]
fn an_idle_reader_makes_no_wake_up() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    let reader = std::thread::spawn(move || {
        let read = far.read(&mut [0; 8]).expect("a message");
        (read, far.counters().blocks)
    });
    std::thread::sleep(Duration::from_millis(400));
    near.write(b"now").expect("room");
    let (read, blocks) = reader.join().expect("reader");
    assert_eq!(read, 3);
    assert!(blocks <= 2, "one sleep on the futex, one on the doorbell, not {blocks}");
}

#[test]
fn a_signal_interrupts_a_waiting_reader() {
    in_own_process!();
    let (_near, far) = pipe().expect("pipe");
    let reader = Interruptible::start(move || far.read(&mut [0]).expect_err("nothing comes").errno());
    let start = Instant::now();
    while !reader.is_finished() && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(30));
        reader.interrupt();
    }
    assert_eq!(reader.join(), Errno::Intr);
}

#[test]
fn a_thousand_pipes_at_once() {
    in_own_process!();
    let hard = headwater_os_tools::limits::get("nofile").and_then(|limit| limit.hard).unwrap_or(1 << 20);
    let limit = libc::rlimit { rlim_cur: hard, rlim_max: hard };
    // SAFETY: a limit of this process alone, raised to what it may have.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let before = headwater_os::descriptors::own().expect("/proc").len();
    let mut pipes: Vec<(Stream, Stream)> = (0..1000).map(|_| pipe().expect("pipe")).collect();
    for (number, (near, _)) in pipes.iter_mut().enumerate() {
        near.write(&(number as u32).to_le_bytes()).expect("room");
    }
    for (number, (_, far)) in pipes.iter_mut().enumerate() {
        let mut bytes = [0; 4];
        assert_eq!(far.read(&mut bytes).expect("there"), 4);
        assert_eq!(u32::from_le_bytes(bytes), number as u32);
    }
    drop(pipes);
    // Other tests of this program run beside; a leak would be of thousands.
    let after = headwater_os::descriptors::own().expect("/proc").len();
    assert!(after < before + 500, "{before} descriptors before, {after} after");
}

#[test]
fn an_idle_pipe_is_small() {
    in_own_process!();
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/smaps").expect("/proc");
        let mut within = false;
        let mut total = 0;
        for line in status.lines() {
            if line.contains("headwater-stream") {
                within = true;
            } else if within && line.starts_with("Rss:") {
                total += line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok()).expect("a number");
                within = false;
            }
        }
        total
    };
    // In a process of its own, where no other test's pipes count.
    joined(child(|| {
        let before = resident();
        let mut pipes: Vec<_> = (0..16).map(|_| pipe()).collect::<Result<_, _>>()?;
        for (near, far) in &mut pipes {
            near.write(b"one message")?;
            far.read(&mut [0; 64])?;
        }
        let each = (resident() - before) / pipes.len();
        assert!(each < 128, "{each} KiB");
        println!("{each} KiB resident for each pipe");
        Ok(())
    }));
}
