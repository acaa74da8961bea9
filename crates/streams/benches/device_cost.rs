//! Measures the cost of a message to an `echo` device and back in one process, without waiting, beside a write and a
//! read of a streams pipe, and a round trip through two kernel pipes: the minimum of many runs.
//!
//! `cargo bench -p headwater-streams --bench device_cost`

use std::hint::black_box;
use std::io::{Read, Write};
use std::time::Instant;

use headwater_streams::{Device, Result, pipe};

fn main() -> Result<()> {
    println!("{:>6} {:>12} {:>12} {:>12} {:>12}   (write + read, ns)", "bytes", "echo", "nuls", "pipe", "kernel's");
    for size in [1, 64, 256, 1024, 4096] {
        let message = vec![1; size];
        let mut buffer = vec![0; size];
        let device = Device::open_private("echo")?;
        let echo = least(|| {
            assert_eq!(device.write(black_box(&message)).expect("room"), size);
            assert_eq!(device.read(black_box(&mut buffer)).expect("there"), size);
        });
        let device = Device::open_private("nuls")?;
        let nuls = least(|| assert_eq!(device.write(black_box(&message)).expect("room"), size));
        let (near, far) = pipe()?;
        let pipe = least(|| {
            assert_eq!(near.write(black_box(&message)).expect("room"), size);
            assert_eq!(far.read(black_box(&mut buffer)).expect("there"), size);
        });
        let (mut there, mut forth) = std::io::pipe()?;
        let (mut here, mut back) = std::io::pipe()?;
        let kernel = least(|| {
            forth.write_all(black_box(&message)).expect("room");
            there.read_exact(black_box(&mut buffer)).expect("there");
            back.write_all(black_box(&buffer)).expect("room");
            here.read_exact(black_box(&mut buffer)).expect("there");
        });
        println!("{size:>6} {echo:>12.1} {nuls:>12.1} {pipe:>12.1} {kernel:>12.1}");
    }
    Ok(())
}

/// The minimal cost of a call, in runs of 48.
fn least(mut call: impl FnMut()) -> f64 {
    const CALLS: u32 = 48;
    let run = |_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    (0..2000).map(run).fold(f64::MAX, f64::min)
}
