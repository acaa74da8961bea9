//! Runs a kernel session until the end of standard input and prints its totals: `kernel_session flight|DIRECTORY
//! EVENT...`. For experiments, and for measuring what a session costs the traced processes.

use std::io::Read;
use std::time::Instant;

use headwater_trace_tools::kernel::{Error, Mode, Session, Settings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mode, events) = words.split_first().ok_or("usage: kernel_session flight|DIRECTORY EVENT...")?;
    let mode = match mode.as_str() {
        "flight" => Mode::Flight,
        directory => Mode::Drain { directory: directory.into() },
    };
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let session = Session::start(&Settings::new(&events, mode))?;
    println!("ready {}", session.path().display());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let mut capture = session.stop()?;
    capture.errors().for_each(|error: &Error| eprintln!("{error}"));
    let (start, mut bytes) = (Instant::now(), 0);
    let totals = capture.convert(&mut |packet| {
        bytes += packet.records.len();
        Ok(())
    })?;
    println!("{bytes} bytes of records in {:?}", start.elapsed());
    totals.iter().for_each(|totals| println!("{totals:?}"));
    Ok(())
}
