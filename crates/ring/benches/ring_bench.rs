//! Streams messages between two processes through the ring and through the kernel's pipe, in many short interleaved
//! pieces, and prints the medians of the ratios.
//!
//! `cargo bench -p headwater-ring --bench ring_bench [-- PIECE_MS ROUNDS [FILTER]]`
//!
//! One row per message size; both ends copy: the writer from one buffer, the reader into one buffer with reads of the
//! message's size. On two CPUs the writer is bound to CPU 0 and the reader to CPU 1, else both to CPU 0. This is the
//! ring's own small bench; `headwater run` is the one that measures with statistics.

use std::hint::black_box;
use std::io::{PipeWriter, Read, Write};
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_os::cpu;
use headwater_ring::{Wait, pair};

const SIZES: [usize; 7] = [1, 8, 64, 256, 1 << 10, 4 << 10, 64 << 10];

#[derive(Clone, Copy)]
enum Way {
    Pipe,
    Ring { window: usize, wait: Wait },
}

const TWO_CPUS: [(&str, Way); 4] = [
    ("spin 64k", Way::Ring { window: 64 << 10, wait: Wait::Spin }),
    ("sleep 64k", Way::Ring { window: 64 << 10, wait: Wait::Sleep }),
    ("spin 1m", Way::Ring { window: 1 << 20, wait: Wait::Spin }),
    ("sleep 1m", Way::Ring { window: 1 << 20, wait: Wait::Sleep }),
];
const ONE_CPU: [(&str, Way); 2] = [
    ("sleep 64k", Way::Ring { window: 64 << 10, wait: Wait::Sleep }),
    ("sleep 1m", Way::Ring { window: 1 << 20, wait: Wait::Sleep }),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |at: usize, default: u64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let piece = Duration::from_millis(number(0, 15));
    let rounds = number(1, 21);
    let filter = arguments.get(2).map_or("", String::as_str);
    for (placement, reader_cpu, rows) in [("two CPUs", 1, &TWO_CPUS[..]), ("one CPU", 0, &ONE_CPU[..])] {
        if !placement.contains(filter) {
            continue;
        }
        println!("\n{placement}: messages/s through the pipe, and the ring's multiple of it (quartiles)");
        print!("{:>6} {:>12}", "size", "pipe 1/s");
        rows.iter().for_each(|(name, _)| print!("  {name:^22}"));
        println!();
        for size in SIZES {
            let mut pipe_rates = Vec::new();
            let mut ratios = vec![Vec::new(); rows.len()];
            for _ in 0..rounds {
                // The pipe before and after, so that a drift of the machine cancels.
                let mut before = rate(Way::Pipe, size, piece, reader_cpu);
                for (row, (_, way)) in rows.iter().enumerate() {
                    let ring = rate(*way, size, piece, reader_cpu);
                    let after = rate(Way::Pipe, size, piece, reader_cpu);
                    ratios[row].push(ring / (before * after).sqrt());
                    pipe_rates.push(after);
                    before = after;
                }
            }
            print!("{size:>6} {:>12.0}", quantile(&mut pipe_rates, 0.5));
            for row in &mut ratios {
                let [low, middle, high] = [0.25, 0.5, 0.75].map(|q| quantile(row, q));
                print!("  {middle:>6.1} ({low:>5.1}..{high:>5.1})");
            }
            println!();
        }
    }
}

fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * q).round() as usize]
}

/// Messages per second that the reader received while the writer wrote for `piece`.
fn rate(way: Way, size: usize, piece: Duration, reader_cpu: u32) -> f64 {
    let (mut report, report_in) = std::io::pipe().expect("pipe");
    // What a child captures by move, the parent has dropped when the fork returns: no end is held twice.
    let mut children = match way {
        Way::Pipe => {
            let (mut source, mut sink) = std::io::pipe().expect("pipe");
            let writer = Child::fork(move || write_for(piece, size, |message| sink.write_all(message).is_ok()));
            let reader =
                Child::fork(move || read_all(report_in, size, reader_cpu, |buffer| source.read_exact(buffer).is_ok()));
            [writer, reader]
        }
        Way::Ring { window, wait } => {
            let (mut sender, mut receiver) = pair(window, wait).expect("ring");
            let writer = Child::fork(move || write_for(piece, size, |message| sender.write_all(message).is_ok()));
            let reader = Child::fork(move || {
                read_all(report_in, size, reader_cpu, |buffer| receiver.read_exact(buffer).is_ok())
            });
            [writer, reader]
        }
    };
    for child in &mut children {
        let status = child.as_mut().expect("fork").wait().expect("wait");
        assert!(status.success(), "an end failed: {status}");
    }
    let mut words = [[0; 8]; 2];
    words.iter_mut().for_each(|word| report.read_exact(word).expect("the reader reports"));
    let [messages, elapsed_ns] = words.map(u64::from_le_bytes);
    messages as f64 * 1e9 / elapsed_ns as f64
}

/// The writer's process: messages for `piece`; the clock is read about once in 64 KiB.
fn write_for(piece: Duration, size: usize, mut write: impl FnMut(&[u8]) -> bool) -> i32 {
    cpu::bind(0).expect("CPU 0");
    let message = vec![7; size];
    let between_clocks = ((64 << 10) / size).clamp(1, 512);
    let start = Instant::now();
    while start.elapsed() < piece {
        for _ in 0..between_clocks {
            if !write(black_box(&message)) {
                return 1;
            }
        }
    }
    0
}

/// The reader's process: messages until the end, then how many and in how long, from the first one on.
fn read_all(mut report: PipeWriter, size: usize, cpu: u32, mut read: impl FnMut(&mut [u8]) -> bool) -> i32 {
    cpu::bind(cpu).expect("the reader's CPU");
    let mut buffer = vec![0; size];
    if !read(&mut buffer) {
        return 1;
    }
    let start = Instant::now();
    let mut messages = 0u64;
    while read(black_box(&mut buffer)) {
        messages += 1;
    }
    let elapsed_ns = start.elapsed().as_nanos() as u64;
    let wrong = buffer.iter().any(|byte| *byte != 7);
    let reported = [messages, elapsed_ns].iter().all(|word| report.write_all(&word.to_le_bytes()).is_ok());
    i32::from(wrong || !reported)
}
