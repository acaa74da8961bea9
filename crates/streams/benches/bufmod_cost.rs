//! What gathering costs and saves, and what autopush adds to an open: `cargo bench -p headwater-streams --bench bufmod_cost`.
//!
//! One process, the median of 15 rounds by turns.

use std::time::Instant;

use headwater_streams::autopush::{self, Autopush, Minors};
use headwater_streams::modules::bufmod::{BufferFlags, SET_FLAGS};
use headwater_streams::{DeviceOptions, IoctlTimeout, Message, ReadMode, ReadOptions, Result, Stream};

const ROUNDS: usize = 15;
const MESSAGES: usize = 20_000;
const OPENS: usize = 500;

/// A pipe whose near end has these modules. Each read takes one message or chunk.
fn pipe_with(module: Option<&str>, flags: BufferFlags) -> Result<(Stream, Stream)> {
    let (near, far) = headwater_streams::pipe()?;
    near.settings().set_read_options(ReadOptions::default().mode(ReadMode::MessageDiscard))?;
    near.set_nonblocking(true)?;
    if let Some(module) = module {
        near.push(module)?;
    }
    if module == Some("bufmod") {
        near.ioctl(SET_FLAGS, &mut flags.bits().to_ne_bytes().to_vec(), IoctlTimeout::Usual)?;
    }
    Ok((near, far))
}

/// ns for a message of 64 bytes, written and read; and messages for each read.
fn message_ns((near, far): &(Stream, Stream)) -> Result<(f64, f64)> {
    let (text, mut buffer, mut reads) = ([1; 64], [0; 8192], 0);
    let start = Instant::now();
    for number in 0..MESSAGES {
        far.send_message(&Message::data_of(&text))?;
        // As a reader that is woken now and then: all that is there.
        if number % 64 == 63 {
            while near.read(&mut buffer).is_ok() {
                reads += 1;
            }
        }
    }
    Ok((start.elapsed().as_nanos() as f64 / MESSAGES as f64, MESSAGES as f64 / reads as f64))
}

/// us for an open and a close.
fn open_us(open: impl Fn() -> Result<Stream>) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..OPENS {
        drop(open()?);
    }
    Ok(start.elapsed().as_micros() as f64 / OPENS as f64)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() -> Result<()> {
    let cases = [
        ("no module", None, BufferFlags::empty()),
        ("srvmod", Some("srvmod"), BufferFlags::empty()),
        ("bufmod, no headers", Some("bufmod"), BufferFlags::NO_HEADER | BufferFlags::NO_DROPS),
        ("bufmod, headers", Some("bufmod"), BufferFlags::NO_DROPS),
    ];
    let mut figures = vec![Vec::new(); cases.len()];
    let mut gathered = vec![0.0; cases.len()];
    for _ in 0..ROUNDS {
        for (at, (_, module, flags)) in cases.iter().enumerate() {
            let (ns, each) = message_ns(&pipe_with(*module, *flags)?)?;
            figures[at].push(ns);
            gathered[at] = each;
        }
    }
    for (at, (name, ..)) in cases.iter().enumerate() {
        println!(
            "{name:<22} {:>8.0} ns a message of 64 bytes, {:>6.1} for each read",
            median(figures[at].clone()),
            gathered[at]
        );
    }
    let directory = std::env::temp_dir().join(format!("headwater-bufmod-cost-{}", std::process::id()));
    let options = DeviceOptions::new().directory(&directory);
    let missing = DeviceOptions::new().directory(directory.join("missing"));
    let mut opens = vec![Vec::new(); 6];
    for _ in 0..ROUNDS {
        opens[0].push(open_us(|| missing.open_private("echo"))?);
        opens[1].push(open_us(|| options.open("echo"))?);
        autopush::configure(&options, Autopush::new("nuls", Minors::All, ["nullmod"]))?;
        opens[2].push(open_us(|| options.open_private("echo"))?);
        opens[3].push(open_us(|| options.open("echo"))?);
        autopush::configure(&options, Autopush::new("echo", Minors::All, ["nullmod"]))?;
        opens[4].push(open_us(|| options.open_private("echo"))?);
        opens[5].push(open_us(|| options.open("echo"))?);
        autopush::clear(&options, "echo", 0)?;
        autopush::clear(&options, "nuls", 0)?;
        std::fs::remove_file(directory.join(".autopush"))?;
    }
    let names = [
        "private, no directory",
        "by name, no table",
        "private, a table, no entry",
        "by name, a table, no entry",
        "private, one module",
        "by name, one module",
    ];
    for (name, figures) in names.into_iter().zip(opens) {
        println!("open and close of echo, {name:<28} {:>7.1} us", median(figures));
    }
    Ok(std::fs::remove_dir_all(directory)?)
}
