//! Measures what a look at all streams costs the process that looks: the minimum of twenty.
//!
//! `cargo bench -p headwater-streams --bench look_cost`

use std::time::Instant;

use headwater_streams::{Stream, inspect, pipe};

fn main() {
    let numbers = |name: std::ffi::OsString| name.to_str()?.parse::<u32>().ok();
    let processes = std::fs::read_dir("/proc").expect("/proc").filter_map(|entry| numbers(entry.ok()?.file_name()));
    println!("{} processes", processes.count());
    let mut streams: Vec<(Stream, Stream)> = Vec::new();
    for count in [0, 1, 10, 100] {
        streams.resize_with(count, || pipe().expect("pipe"));
        let look = || {
            let start = Instant::now();
            inspect::streams().expect("/proc");
            start.elapsed()
        };
        let least = (0..20).map(|_| look()).min().unwrap_or_default();
        println!("{count:>4} pipes in one process: {:.2} ms a look", least.as_secs_f64() * 1e3);
    }
}
