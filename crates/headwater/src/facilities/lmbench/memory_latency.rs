//! `l1-cache`, `l2-cache`, `main-memory`, `main-memory-random`: a ring of pointers 128 bytes apart, each load waiting for the
//! one before. The ring leads forwards through the memory, which modern processors foresee; that of `main-memory-random`
//! leads through all places by chance, so that nothing can be foreseen, and of 4 KiB pages most loads miss the TLB too.
//!
//! LMbench's manual says backwards, and so did version 1; but the ring in the memory of a running `lat_mem_rd` of lmbench 3
//! leads forwards, and its figures are what version 2 stands beside.
//!
//! The working sets: half of the first data cache; a quarter of the second, or twice the first if that is more, so that it is
//! in the one and not in the other; 192 MiB, more than last caches have.

use std::fs;
use std::io;

use headwater_os::cpu;
use headwater_os_tools::pointer_chase::Ring;
use headwater_results::random::Random;

use crate::facilities::operation::{Figure, Operation, need};
use crate::harness::conduct::Job;
use crate::harness::lmbench_rule::LmbenchRule;
use crate::transports::Unavailable;

/// Bytes between pointers.
const STRIDE: usize = 128;

/// The working set in main memory, bytes.
const MAIN: usize = 192 << 20;

/// The seed of the order by chance: the same for every launch, so that launches differ in the machine alone.
const SEED: u64 = 1;

/// A process that follows pointers.
#[derive(Debug)]
pub struct MemoryLatency {
    ring: Ring,
    places: u64,
}

impl Operation for MemoryLatency {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("l1-cache", "dependent loads, stride 128 B, over half of the first data cache"),
        ("l2-cache", "dependent loads, stride 128 B, over a part of the second cache"),
        ("main-memory", "dependent loads, stride 128 B, over 192 MiB"),
        ("main-memory-random", "dependent loads of the same places in an order by chance"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;
    const LMBENCH_RULE: LmbenchRule = LmbenchRule::Best;

    fn prepare(job: &Job) -> Result<MemoryLatency, Unavailable> {
        let bytes = match job.row.subject.as_str() {
            "l1-cache" => cache_bytes(1)? / 2,
            "l2-cache" => (cache_bytes(2)? / 4).max(2 * cache_bytes(1)?),
            _ => MAIN,
        };
        need(bytes as u64)?;
        let places = (bytes / STRIDE) as u32;
        let ring = Ring::new(bytes, STRIDE, &tour(&job.row.subject, places))
            .map_err(|error| Unavailable::call("mmap", error))?;
        Ok(MemoryLatency { ring, places: places.into() })
    }

    fn check(&mut self) -> io::Result<()> {
        let start = self.ring.offset();
        self.ring.follow(self.places - 1);
        let before = self.ring.offset();
        self.ring.follow(1);
        match self.ring.offset() {
            back if back == start && before != start => Ok(()),
            other => Err(io::Error::other(format!("the ring of {} places led from {start} to {other}", self.places))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        self.ring.follow(operations);
        Ok(())
    }
}

/// The places of a row's ring, in the order in which it leads through them.
fn tour(subject: &str, places: u32) -> Vec<u32> {
    let mut tour: Vec<u32> = (0..places).collect();
    if subject == "main-memory-random" {
        Random::new(SEED).shuffle(&mut tour);
    }
    tour
}

/// Bytes of the data cache of that level of the CPU that this process is on, as sysfs tells it.
fn cache_bytes(level: u32) -> Result<usize, Unavailable> {
    let caches = format!("/sys/devices/system/cpu/cpu{}/cache", cpu::current());
    let found = (0..8).map(|index| format!("{caches}/index{index}")).find_map(|cache| {
        let read = |name| fs::read_to_string(format!("{cache}/{name}")).unwrap_or_default();
        let holds_data = ["Data", "Unified"].contains(&read("type").trim());
        (holds_data && read("level").trim() == level.to_string()).then(|| size_bytes(read("size").trim()))?
    });
    found.ok_or_else(|| Unavailable(format!("{caches} tells of no data cache of level {level}")))
}

/// A size as sysfs writes it: `32K`.
fn size_bytes(text: &str) -> Option<usize> {
    let number: usize = text.trim_end_matches(['K', 'M']).parse().ok()?;
    let shift = if text.ends_with('M') {
        20
    } else if text.ends_with('K') {
        10
    } else {
        0
    };
    number.checked_mul(1 << shift).filter(|&bytes| bytes >= 16 * STRIDE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_leads_forwards_by_its_stride_and_back_to_the_first_place() {
        let mut ring = Ring::new(1024, STRIDE, &tour("main-memory", 8)).expect("it fits");
        let mut offsets = Vec::new();
        for _ in 0..9 {
            offsets.push(ring.offset());
            ring.follow(1);
        }
        assert_eq!(offsets, [0, 128, 256, 384, 512, 640, 768, 896, 0]);
    }

    #[test]
    fn the_ring_by_chance_leads_through_every_place_in_another_order() {
        let mut by_chance = tour("main-memory-random", 1000);
        assert_ne!(by_chance, tour("main-memory", 1000));
        by_chance.sort_unstable();
        assert_eq!(by_chance, tour("main-memory", 1000));
    }

    #[test]
    fn sizes_are_read_as_sysfs_writes_them() {
        assert_eq!(
            ["32K", "2M", "4096", "", "K", "0K"].map(size_bytes),
            [Some(32768), Some(2 << 20), Some(4096), None, None, None]
        );
    }
}
