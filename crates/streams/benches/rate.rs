//! Bytes from one process to another over a pipe, by write and read: a line for each size of a write, median of the rounds. The same
//! loop as `crates/capi/tests/bench/rate.c`, which calls the C library.
//!
//! `cargo bench -p headwater-streams --bench rate`

use std::time::Instant;

use headwater_os::child::Child;
use headwater_streams::{Result, pipe};

const ROUNDS: usize = 7;
const ROOM: usize = 65536;

fn main() -> Result<()> {
    let sizes = (0..=6).map(|power| 1_usize << (2 * power));
    for size in sizes {
        let writes = if size < 64 { 4_000_000 } else { 256_000_000 / size };
        let mut seen = (0..ROUNDS).map(|_| round_of(size, writes)).collect::<Result<Vec<f64>>>()?;
        seen.sort_by(f64::total_cmp);
        let median = seen[ROUNDS / 2];
        let (each, rate) = (median * 1e9 / writes as f64, (size * writes) as f64 / median / 1e6);
        println!("{size:6} bytes: {each:8.1} ns a write, {rate:9.1} MB/s");
    }
    Ok(())
}

/// Seconds for that many writes of that size.
fn round_of(size: usize, writes: usize) -> Result<f64> {
    let (reader, writer) = pipe()?;
    let bytes = vec![0; size];
    let mut child = Child::fork(|| {
        let mut room = vec![0; ROOM];
        let mut left = writes * size;
        while left > 0 {
            match reader.read(&mut room) {
                Ok(count) if count > 0 => left -= count,
                _ => return 3,
            }
        }
        0
    })?;
    let start = Instant::now();
    for _ in 0..writes {
        assert_eq!(writer.write(&bytes)?, size, "a blocking write is complete");
    }
    assert!(child.wait()?.success(), "the reader got every byte");
    Ok(start.elapsed().as_secs_f64())
}
