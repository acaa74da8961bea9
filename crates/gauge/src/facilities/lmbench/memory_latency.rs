//! `l1-cache`, `l2-cache`, `main-memory`: dependent loads along a ring of pointers that are 128 bytes apart. The ring runs
//! forwards through the memory, which modern processors prefetch. `l1-cache-random`, `l2-cache-random` and
//! `main-memory-random` visit the same places in random order, so that prefetching cannot help; in main memory with 4 KiB
//! pages most loads miss the TLB too.
//!
//! LMbench's manual describes a ring that runs backwards, and version 1 of this definition followed it. But in the
//! memory of a running `lat_mem_rd` of lmbench 3 the ring runs forwards; version 2 does the same.
//!
//! The working sets: half of the level 1 data cache; a quarter of the level 2 cache, or twice the level 1 cache if that
//! is more, so that it fits the second but not the first; 192 MiB, more than last-level caches have.

use std::fs;
use std::io;

use headwater_os::cpu;
use headwater_os_tools::pointer_chase::Ring;
use headwater_results::random::Random;

use crate::facilities::operation::{Figure, Operation, Probe, need};
use crate::harness::conduct::Job;
use crate::harness::lmbench_rule::LmbenchRule;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// Bytes between pointers.
const STRIDE: usize = 128;

/// Size in bytes of the working set in main memory.
const MAIN: usize = 192 << 20;

/// The end of the names of rows in random order.
const RANDOM: &str = "-random";

/// The seed of the random order. It is the same for every launch, so that launches differ only in the state of the
/// machine.
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
        ("l1-cache-random", "dependent loads of the places of l1-cache in random order"),
        ("l2-cache-random", "dependent loads of the places of l2-cache in random order"),
        ("main-memory-random", "dependent loads of the places of main-memory in random order"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;
    const COST: LaunchCost = LaunchCost::fixed(0.07);
    const LMBENCH_RULE: LmbenchRule = LmbenchRule::Best;

    const PROBE: Option<Probe> = Some(|job| need(set_bytes(&job.row.subject)? as u64));

    fn prepare(job: &Job) -> Result<MemoryLatency, Unavailable> {
        let bytes = set_bytes(&job.row.subject)?;
        need(bytes as u64)?;
        let places = (bytes / STRIDE) as u32;
        let ring = Ring::new(bytes, STRIDE, &ring_order(&job.row.subject, places))
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

/// Returns the bytes of a row's working set.
///
/// # Errors
/// [`Unavailable`] if the system does not tell the size of the cache.
pub fn set_bytes(subject: &str) -> Result<usize, Unavailable> {
    Ok(match subject.trim_end_matches(RANDOM) {
        "l1-cache" => cache_bytes(1)? / 2,
        "l2-cache" => (cache_bytes(2)? / 4).max(2 * cache_bytes(1)?),
        _ => MAIN,
    })
}

/// Returns the places of a row's ring in the order of the ring.
fn ring_order(subject: &str, places: u32) -> Vec<u32> {
    let mut tour: Vec<u32> = (0..places).collect();
    if subject.ends_with(RANDOM) {
        Random::new(SEED).shuffle(&mut tour);
    }
    tour
}

/// Returns the size in bytes of the data cache of the given level, for the CPU of this process, from sysfs.
fn cache_bytes(level: u32) -> Result<usize, Unavailable> {
    let caches = format!("/sys/devices/system/cpu/cpu{}/cache", cpu::current());
    let found = (0..8).map(|index| format!("{caches}/index{index}")).find_map(|cache| {
        let read = |name| fs::read_to_string(format!("{cache}/{name}")).unwrap_or_default();
        let holds_data = ["Data", "Unified"].contains(&read("type").trim());
        (holds_data && read("level").trim() == level.to_string()).then(|| size_bytes(read("size").trim()))?
    });
    found.ok_or_else(|| Unavailable(format!("{caches} has no data cache of level {level}")))
}

/// Parses a size in the format of sysfs: `32K`.
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
    fn a_ring_runs_forwards_by_its_stride_and_back_to_the_first_place() {
        let mut ring = Ring::new(1024, STRIDE, &ring_order("main-memory", 8)).expect("it fits");
        let mut offsets = Vec::new();
        for _ in 0..9 {
            offsets.push(ring.offset());
            ring.follow(1);
        }
        assert_eq!(offsets, [0, 128, 256, 384, 512, 640, 768, 896, 0]);
    }

    #[test]
    fn the_random_ring_visits_every_place_in_another_order() {
        let mut by_chance = ring_order("main-memory-random", 1000);
        assert_ne!(by_chance, ring_order("main-memory", 1000));
        by_chance.sort_unstable();
        assert_eq!(by_chance, ring_order("main-memory", 1000));
    }

    #[test]
    fn sizes_are_read_as_sysfs_writes_them() {
        assert_eq!(
            ["32K", "2M", "4096", "", "K", "0K"].map(size_bytes),
            [Some(32768), Some(2 << 20), Some(4096), None, None, None]
        );
    }
}
