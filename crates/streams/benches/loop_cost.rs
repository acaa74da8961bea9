//! What two partners of the driver `loop` cost beside a pipe of ours, in turns, the median of many rounds: a write and a read in one
//! process, a message to another process and back, and bytes to another process that reads them.
//!
//! `cargo bench -p headwater-streams --bench loop_cost`

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use headwater_os::child::Child;
use headwater_streams::{DeviceOptions, Result, Stream};

const ROUNDS: usize = 15;
const BYTES: usize = 64 << 20;

/// Two connected streams.
type Ends = (Stream, Stream);

fn main() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let ends: [Box<dyn Fn() -> Result<Ends>>; 2] =
        [Box::new(|| partners(directory.path())), Box::new(headwater_streams::pipe)];
    println!("{:>32} {:>10} {:>10}", "", "loop", "pipe");
    for size in [64, 4096] {
        let text = format!("write + read, {size} bytes, ns");
        in_turns(&text, &ends, |ends| write_and_read(ends, size))?;
        let text = format!("there and back, {size} bytes, ns");
        in_turns(&text, &ends, |ends| there_and_back(ends, size))?;
        let text = format!("bytes by {size}, GB/s");
        in_turns(&text, &ends, |ends| bytes_over(ends, size))?;
    }
    Ok(())
}

/// Streams 0 and 1 of `loop`, which have met.
fn partners(directory: &Path) -> Result<Ends> {
    let open = |minor| DeviceOptions::new().directory(directory.join("devices")).minor(minor).open("loop");
    let (one, other) = (open(0)?, open(1)?);
    other.write(b"x")?;
    one.read(&mut [0; 8])?;
    Ok((one, other))
}

/// Measures each kind by turns, and prints the medians.
fn in_turns(
    text: &str,
    kinds: &[Box<dyn Fn() -> Result<Ends> + '_>; 2],
    measure: impl Fn(Ends) -> Result<f64>,
) -> Result<()> {
    let mut found = [const { Vec::new() }; 2];
    for _ in 0..ROUNDS {
        for (ends, found) in kinds.iter().zip(&mut found) {
            found.push(measure(ends()?)?);
        }
    }
    let [loops, pipes] = found.map(|mut found| {
        found.sort_by(f64::total_cmp);
        found[ROUNDS / 2]
    });
    println!("{text:>32} {loops:>10.2} {pipes:>10.2}");
    Ok(())
}

fn write_and_read((near, far): Ends, size: usize) -> Result<f64> {
    let (message, mut buffer) = (vec![1; size], vec![0; size]);
    const CALLS: u32 = 20_000;
    let start = Instant::now();
    for _ in 0..CALLS {
        near.write(black_box(&message))?;
        far.read(black_box(&mut buffer))?;
    }
    Ok(start.elapsed().as_nanos() as f64 / f64::from(CALLS))
}

fn there_and_back((near, far): Ends, size: usize) -> Result<f64> {
    let mut child = in_child(&mut Some(far), |far| {
        let mut buffer = vec![0; size];
        while let count @ 1.. = far.read(&mut buffer)? {
            far.write(&buffer[..count])?;
        }
        Ok(())
    });
    let (message, mut buffer) = (vec![1; size], vec![0; size]);
    const CALLS: u32 = 5000;
    let start = Instant::now();
    for _ in 0..CALLS {
        near.write(&message)?;
        let mut read = 0;
        while read < size {
            read += near.read(&mut buffer[read..])?;
        }
    }
    let time = start.elapsed();
    drop(near);
    child.kill();
    child.wait()?;
    Ok(time.as_nanos() as f64 / f64::from(CALLS))
}

fn bytes_over((near, far): Ends, size: usize) -> Result<f64> {
    let mut child = in_child(&mut Some(far), |far| {
        let mut buffer = vec![0; 64 << 10];
        let mut read = 0;
        while read < BYTES {
            read += far.read(&mut buffer)?;
        }
        far.write(b"x").map(drop)
    });
    let message = vec![1; size];
    let start = Instant::now();
    for _ in 0..BYTES / size {
        near.write(&message)?;
    }
    near.read(&mut [0])?;
    let time = start.elapsed();
    child.wait()?;
    Ok(BYTES as f64 / time.as_nanos() as f64)
}

/// The other end is used by a child alone.
fn in_child(far: &mut Option<Stream>, body: impl FnOnce(&Stream) -> Result<()>) -> Child {
    let child = Child::fork(|| {
        let Some(mut far) = far.take() else { return 1 };
        i32::from(body(&mut far).is_err())
    });
    drop(far.take());
    child.expect("fork")
}
