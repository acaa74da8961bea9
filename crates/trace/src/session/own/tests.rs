use std::ptr;

use headwater_shm::logs::WhenFull;

use super::*;
use crate::region::{Layout, Region};
use crate::schema::Clock;

/// Processors fetch cache lines of 64 bytes in pairs.
const PAIR_BYTES: usize = 128;

#[test]
fn logs_of_threads_share_no_cache_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let clock = Clock { name: "tsc".to_owned(), frequency_hz: 1_000_000_000, offset_s: 0, offset_ticks: 0 };
    let layout = Layout { patterns: Vec::new(), when_full: WhenFull::Refuse, cpu_bytes: 1 << 16, clock };
    let region = Region::create(&directory.path().join("session"), &layout).expect("made");
    let logs = all(&region.threads, crate::event::ON, true);
    // What a thread writes and reads at each event, in this process and in the session's memory.
    let lines = |log: &OwnLog| {
        let own = ptr::from_ref(log).addr();
        let shared = log.writer.first_byte().addr().get();
        [own / PAIR_BYTES, (own + size_of::<OwnLog>() - 1) / PAIR_BYTES, shared / PAIR_BYTES]
    };
    assert!(logs.len() > 2);
    for (number, log) in logs.iter().enumerate() {
        let others = logs[..number].iter().flat_map(lines);
        assert!(!others.into_iter().any(|line| lines(log).contains(&line)), "log {number}");
    }
}
