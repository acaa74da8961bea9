//! A pipeline of two processes: the child counts words, the parent feeds it and reads the sums. `far` is simply used in
//! the child after the fork, as a kernel pipe's end would be.
//!
//! `cargo run -p headwater-streams --example pipeline < README.md`

use std::io::{BufRead, BufReader, Write, stdin};
use std::net::Shutdown;

use headwater_os::child::Child;
use headwater_streams::{Stream, pipe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (near, far) = pipe()?;
    // Each process drops the end that it does not use: the end of the stream comes when the last copy of the other end
    // is gone.
    let (mut near, mut far) = (Some(near), Some(far));
    let mut child = Child::fork(|| {
        drop(near.take());
        let served = far.take().ok_or("far is there").and_then(|far| count_words(far).map_err(|_| "the stream broke"));
        i32::from(served.is_err())
    })?;
    drop(far);
    let mut near = near.expect("the child took its own copy");
    for line in stdin().lock().lines() {
        writeln!(near, "{}", line?)?;
    }
    near.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    BufReader::new(near).read_line(&mut answer)?;
    print!("{answer}");
    std::process::exit(child.wait()?.code().unwrap_or(1))
}

fn count_words(stream: Stream) -> std::io::Result<()> {
    let mut answers = stream.clone();
    let (mut lines, mut words) = (0u64, 0u64);
    // Until the parent has shut its direction down.
    for line in BufReader::new(stream).lines() {
        lines += 1;
        words += line?.split_whitespace().count() as u64;
    }
    writeln!(answers, "{lines} lines, {words} words")
}
