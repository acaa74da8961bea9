//! What `strlog` costs: without a logger, with a trace logger that does not ask for the message, with one that does, and with one that is
//! full; and what it costs the logger to receive a message. The least of many runs.
//!
//! `cargo bench -p headwater-streams --bench log_cost`

use std::hint::black_box;
use std::time::Instant;

use headwater_streams::drivers::log::{LogFlags, TRCLOG, TraceId};
use headwater_streams::{Device, Error, IoctlTimeout, strlog};

/// Fewer than a mailbox holds.
const CALLS: u32 = 100;

fn main() -> Result<(), Error> {
    let trace =
        |level| strlog(1, 2, level, LogFlags::TRACE, format_args!("{} of {}", black_box(17), black_box("text")));
    trace(1);
    println!("nobody logs              {:>8.1} ns", least(|| assert!(trace(1)), || ()));
    let logger = Device::open("log")?;
    let mut ids = TraceId { level: Some(3), ..TraceId::ALL }.bytes().to_vec();
    logger.ioctl(TRCLOG, &mut ids, IoctlTimeout::Usual)?;
    println!("nobody asks for it       {:>8.1} ns", least(|| assert!(trace(4)), || ()));
    let drain = || (0..CALLS).for_each(|_| drop(logger.receive().expect("one was sent")));
    println!("a logger asks for it     {:>8.1} ns", least(|| assert!(trace(1)), drain));
    let fill = || (0..CALLS).for_each(|_| assert!(trace(1)));
    fill();
    println!("the logger receives it   {:>8.1} ns", least(|| drop(logger.receive()), fill));
    while trace(1) {}
    println!("the logger is full       {:>8.1} ns", least(|| assert!(!trace(1)), || ()));
    Ok(())
}

/// The least cost of a call, in runs of [`CALLS`], after each of which something is done that does not count.
fn least(mut call: impl FnMut(), mut after: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        let time = start.elapsed();
        after();
        time.as_nanos() as f64 / f64::from(CALLS)
    };
    (0..500).map(run).fold(f64::MAX, f64::min)
}
