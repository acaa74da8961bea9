//! The executable mappings of a session's programs: each program stores its own before its first record with a stack, so
//! that the addresses can be read after its end. Not in a log, where they could be overwritten.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use headwater_os::stack;
use headwater_shm::{Placed, shareable};

use super::{next_place, taken_places};

/// The number of mappings in the table; further ones are not stored.
pub const MODULES_MAX: usize = 1024;

shareable! {
    /// A mapping. The program that raised the header's count to this place writes it, once.
    pub(crate) struct Module {
        /// 1: written.
        state: AtomicU32,
        pid: AtomicU32,
        base: AtomicU64,
        start: AtomicU64,
        end: AtomicU64,
        len: AtomicU32,
        path: [AtomicU8; 220],
    }
}

/// A mapping of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// The process.
    pub pid: u32,
    /// Where the file's beginning is mapped.
    pub base: u64,
    /// The first address that can be executed.
    pub start: u64,
    /// The address behind them.
    pub end: u64,
    /// The file, its last 220 bytes, without a NUL.
    pub path: Vec<u8>,
}

/// Stores the mappings of this process at the next places according to `count`.
pub(crate) fn note(table: &Placed<[Module]>, count: &AtomicU32, pid: u32) {
    stack::modules(|module| {
        let Some(place) = next_place(table, count) else { return };
        let path = &module.path[module.path.len().saturating_sub(place.path.len())..];
        place.pid.store(pid, Ordering::Relaxed);
        place.base.store(module.base, Ordering::Relaxed);
        place.start.store(module.start, Ordering::Relaxed);
        place.end.store(module.end, Ordering::Relaxed);
        place.path.iter().zip(path).for_each(|(byte, value)| byte.store(*value, Ordering::Relaxed));
        place.len.store(path.len() as u32, Ordering::Relaxed);
        // Pairs with the Acquire in `noted`.
        place.state.store(1, Ordering::Release);
    });
}

/// The mappings at the used places from `first` onwards; None for a place whose program has not written it yet, or was
/// killed before.
pub(crate) fn noted(table: &Placed<[Module]>, count: &AtomicU32, first: usize) -> impl Iterator<Item = Option<Mapped>> {
    taken_places(table, count, first).iter().map(|place| {
        if place.state.load(Ordering::Acquire) != 1 {
            return None;
        }
        let len = (place.len.load(Ordering::Relaxed) as usize).min(place.path.len());
        let path = place.path[..len].iter().map(|byte| byte.load(Ordering::Relaxed));
        Some(Mapped {
            pid: place.pid.load(Ordering::Relaxed),
            base: place.base.load(Ordering::Relaxed),
            start: place.start.load(Ordering::Relaxed),
            end: place.end.load(Ordering::Relaxed),
            path: path.take_while(|byte| *byte != 0).collect(),
        })
    })
}
