//! The memory that a stream keeps after messages have passed through it. A separate program: it checks all streams of
//! the process.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use headwater_streams::{Errno, Stream, pipe};

/// One test at a time: each checks all streams of the process.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Bytes of all streams of this process that take up pages.
fn resident() -> u64 {
    let own = std::fs::read_dir("/proc/self/fd").expect("/proc").filter_map(|entry| Some(entry.ok()?.path()));
    let streams = own.filter(|path| {
        std::fs::read_link(path).is_ok_and(|link| link.to_string_lossy().starts_with("/memfd:headwater-stream"))
    });
    let sizes: std::collections::BTreeMap<u64, u64> = streams
        .map(|path| std::fs::metadata(path).expect("open"))
        .map(|memory| (memory.ino(), memory.blocks() * 512))
        .collect();
    sizes.values().sum()
}

#[test]
fn a_reader_that_dozes_off_gives_the_memory_back() {
    let _alone = alone();
    let (near, far) = pipe().expect("pipe");
    let reader = std::thread::spawn(move || {
        let (mut buffer, mut next) = ([0; 4096], 0u32);
        loop {
            let count = far.read(&mut buffer).expect("no error");
            if count == 0 {
                return next;
            }
            for bytes in buffer[..count].chunks(4) {
                assert_eq!(bytes, next.to_le_bytes());
                next += 1;
            }
        }
    });
    let mut next = 0u32;
    for round in 0..5 {
        for _ in 0..2000 {
            let message: Vec<u8> = (next..next + 128).flat_map(u32::to_le_bytes).collect();
            assert_eq!(near.write(&message).expect("room"), 512);
            next += 128;
        }
        let start = Instant::now();
        while resident() > 64 << 10 {
            assert!(start.elapsed() < Duration::from_secs(10), "round {round}: {} bytes are kept", resident());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    drop(near);
    assert_eq!(reader.join().expect("no panic"), next);
}

#[test]
fn a_reader_gives_the_memory_back_though_a_writer_was_in_the_middle_of_its_call() {
    let _alone = alone();
    let (near, far) = pipe().expect("pipe");
    let reader = std::thread::spawn(move || {
        let (mut buffer, mut bytes) = ([0; 4096], 0);
        loop {
            match far.read(&mut buffer).expect("no error") {
                0 => return bytes,
                count => bytes += count,
            }
        }
    });
    for _ in 0..2000 {
        near.write(&[1; 512]).expect("room");
    }
    // As long as it has the place, it has the lock of its side.
    let mut holder = near.direct();
    let place = holder.reserve(64).expect("a place");
    std::thread::sleep(Duration::from_millis(100));
    let kept = resident();
    drop(place);
    let start = Instant::now();
    while resident() > 64 << 10 {
        assert!(start.elapsed() < Duration::from_secs(10), "{} bytes are kept, {kept} before", resident());
        std::thread::sleep(Duration::from_millis(5));
    }
    drop((near, holder));
    assert_eq!(reader.join().expect("no panic"), 2000 * 512);
}

fn nonblocking() -> (Stream, Stream) {
    let (near, far) = pipe().expect("pipe");
    near.set_nonblocking(true).expect("set");
    far.set_nonblocking(true).expect("set");
    (near, far)
}

#[test]
fn a_stream_whose_reader_keeps_up_stays_small() {
    let _alone = alone();
    let plain = kept_with_little_unread(u64::MAX);
    assert!(plain <= 40 << 10, "{plain} bytes are kept of a stream with at most 1 KB unread");
    // The 2048 marks of messages with boundaries are used in turn.
    let marked = kept_with_little_unread(7);
    assert!(marked <= 104 << 10, "{marked} bytes are kept of a stream with at most 1 KB unread");
}

/// The largest memory that a stream keeps through which 16 MB pass, with at most one kilobyte unread. One message in
/// `marked_every` has boundaries.
fn kept_with_little_unread(marked_every: u64) -> u64 {
    let (near, far) = nonblocking();
    let (mut next, mut expected) = (0u64, 0u64);
    let mut most = 0;
    for round in 0..40_000u64 {
        let numbers = 1 + round % 100;
        let message: Vec<u8> = (next..next + numbers).flat_map(u64::to_le_bytes).collect();
        next += numbers;
        if round % marked_every == 1 {
            near.putmsg(None, Some(&message)).expect("room");
        } else {
            assert_eq!(near.write(&message).expect("room"), message.len());
        }
        let mut buffer = [0; 1024];
        loop {
            let wanted = if round % 3 == 0 { 8 } else { buffer.len() };
            let count = match far.read(&mut buffer[..wanted]) {
                // As a program that polls reads; one that reads only the available bytes counts as behind.
                Err(error) => break assert_eq!(error.errno(), Errno::Again),
                Ok(count) => count,
            };
            for bytes in buffer[..count].chunks(8) {
                assert_eq!(bytes, expected.to_le_bytes());
                expected += 1;
            }
        }
        assert_eq!(expected, next);
        if round % 1000 == 0 {
            most = most.max(resident());
        }
    }
    assert!(next * 8 > 16_000_000, "{} bytes have passed", next * 8);
    most
}

#[test]
fn a_reader_that_polls_gives_the_memory_of_a_burst_back() {
    let _alone = alone();
    let (near, far) = nonblocking();
    let mut buffer = vec![0; 64 << 10];
    for round in 0..5u8 {
        // The reader stays behind, so that the whole window is used.
        let mut unread = 0;
        for _ in 0..40 {
            unread += near.write(&[round; 20 << 10]).expect("room");
            if unread > 40 << 10 {
                let count = far.read(&mut buffer[..20 << 10]).expect("there");
                assert!(buffer[..count].iter().all(|byte| *byte == round));
                unread -= count;
            }
        }
        assert!(resident() > 400 << 10, "{} bytes are in use", resident());
        std::thread::sleep(Duration::from_millis(110));
        loop {
            match far.read(&mut buffer) {
                Ok(count) => assert!(buffer[..count].iter().all(|byte| *byte == round)),
                Err(error) => break assert_eq!(error.errno(), Errno::Again),
            }
        }
        assert!(resident() <= 40 << 10, "round {round}: {} bytes are kept", resident());
    }
}
