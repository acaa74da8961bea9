//! How much memory a stream keeps that messages have gone through. A program of its own: it looks at all streams of the process.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use headwater_streams::Handle;

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
    let (mut near, mut far) = Handle::pair().expect("pipe");
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
