//! What an event costs: switched off, recorded in the logs of the CPUs, and what the least would be, by turns; the least of
//! many batches, ns.

use std::hint::black_box;
use std::time::Instant;

use headwater_trace::region::{Layout, Region};
use headwater_trace::schema::Clock;
use headwater_trace::{WhenFull, session};

headwater_trace::events! {
    off("off:event") { first: u64, second: u32, third: u32 }
    on("cost:event") { first: u64, second: u32, third: u32 }
}

const BATCH: u64 = 20_000;

fn bare(ring: &mut [u64; 1 << 15], head: &mut u64, number: u64) {
    let at = (*head & ((1 << 15) - 1)) as usize;
    let place = &mut ring[at & !3..][..4];
    place[0] = headwater_os::ticks::now();
    place[1] = 1;
    place[2] = number;
    place[3] = number ^ 5;
    *head += 4;
}

fn main() -> std::io::Result<()> {
    let path = std::path::PathBuf::from(format!("/dev/shm/headwater-cost-{}", std::process::id()));
    let clock = Clock { name: "tsc".into(), frequency_hz: 1_000_000_000, offset_s: 0, offset_ticks: 0 };
    let patterns = vec!["cost:*".to_owned()];
    Region::create(&path, &Layout { patterns, when_full: WhenFull::Overwrite, cpu_bytes: 1 << 18, clock })?;
    session::join(&path)?;
    std::fs::remove_file(&path)?;
    let mut ring = Box::new([0_u64; 1 << 15]);
    let mut head = 0;
    let names = ["loop", "off", "bare 32 B + stamp", "event"];
    let mut least = [f64::INFINITY; 4];
    for _ in 0..500 {
        for (which, least) in least.iter_mut().enumerate() {
            let start = Instant::now();
            match which {
                0 => (0..BATCH).for_each(|number| {
                    black_box(number);
                }),
                1 => (0..BATCH).for_each(|number| {
                    black_box(number);
                    off(number, 1, 2)
                }),
                2 => (0..BATCH).for_each(|number| {
                    black_box(number);
                    bare(&mut ring, &mut head, number)
                }),
                _ => (0..BATCH).for_each(|number| {
                    black_box(number);
                    on(number, 1, 2)
                }),
            }
            *least = least.min(start.elapsed().as_nanos() as f64 / BATCH as f64);
        }
    }
    for (name, least) in names.iter().zip(least) {
        println!("{name:20} {least:6.2} ns");
    }
    println!("event / bare: {:.2}", least[3] / least[2]);
    Ok(())
}
