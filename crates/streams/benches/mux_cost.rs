//! The throughput of a multiplexer, down to a linked pipe and up from it, beside the pipe alone: a process sends messages with a control
//! part of four bytes to another one. The ways take turns; the median of the rounds is printed.
//!
//! `cargo bench -p headwater-streams --bench mux_cost`

use std::time::Instant;

use headwater_os::child::Child;
use headwater_streams::{Device, Result, Stream, pipe};

const ROUNDS: usize = 15;
const MESSAGES: u32 = 20_000;

/// What a round measures.
#[derive(Clone, Copy)]
enum Way {
    Pipe,
    Down,
    Up,
}

fn main() -> Result<()> {
    println!("{:>6} {:>12} {:>12} {:>12}   (messages/s)", "bytes", "pipe", "mux down", "mux up");
    for size in [64, 1024, 4096] {
        let mut rates = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            for way in [Way::Pipe, Way::Down, Way::Up] {
                rates[way as usize].push(rate(way, size)?);
            }
        }
        let [pipe, down, up] = rates.map(median);
        println!("{size:>6} {pipe:>12.0} {down:>12.0} {up:>12.0}");
    }
    Ok(())
}

fn rate(way: Way, size: usize) -> Result<f64> {
    let (near, far) = pipe()?;
    let (near, far) = (near, far);
    let (sender, receiver, id) = match way {
        Way::Pipe => (near, far, [0; 4]),
        Way::Down | Way::Up => {
            let upper = Device::open_private("mux")?;
            let id = upper.links().link(&near)?.bytes();
            if matches!(way, Way::Down) { (upper, far, id) } else { (far, upper, id) }
        }
    };
    // What is sent up gets the id, and has the same length there.
    let control = if matches!(way, Way::Up) { &[][..] } else { &id };
    let start = Instant::now();
    let mut child = Child::fork(|| match send(&sender, control, size) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("the sender: {error}");
            1
        }
    })?;
    receive(receiver, size)?;
    let seconds = start.elapsed().as_secs_f64();
    assert!(child.wait()?.success());
    Ok(f64::from(MESSAGES) / seconds)
}

fn send(sender: &Stream, control: &[u8], size: usize) -> Result<()> {
    let (sender, data) = (sender.clone(), vec![1; size]);
    (0..MESSAGES).try_for_each(|_| sender.putmsg(Some(control), Some(&data)))
}

fn receive(receiver: Stream, size: usize) -> Result<()> {
    let (mut control, mut data) = ([0; 8], vec![0; 8192]);
    let mut left = MESSAGES as usize * size;
    while left > 0 {
        // Without the id it is plain data below, of which there may be more than one message.
        left -= receiver.getmsg(Some(&mut control), Some(&mut data))?.data.unwrap_or(0);
    }
    Ok(())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
