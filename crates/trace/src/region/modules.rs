//! The executable mappings of a session's programs: each program stores its own before the first record with a stack that needs them, so
//! that the addresses can be read after its end. Not in a log, where they could be overwritten.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use headwater_os::stack::{self, BUILD_ID_MAX};
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
        time: AtomicU64,
        changed: AtomicU64,
        len: AtomicU32,
        build_id_len: AtomicU32,
        build_id: [AtomicU8; BUILD_ID_MAX],
        path: [AtomicU8; 436],
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
    /// When it was stored, in the session's ticks.
    pub time: u64,
    /// When the file's inode was changed last, in nanoseconds since 1970; 0: unknown.
    pub changed: u64,
    /// The beginning of the file's build id; empty without one.
    pub build_id: Vec<u8>,
    /// The file, its last 436 bytes, without a NUL.
    pub path: Vec<u8>,
}

/// Stores a mapping of this process at the next place according to `count`; returns whether there was one.
pub(crate) fn note(
    table: &Placed<[Module]>,
    count: &AtomicU32,
    pid: u32,
    time: u64,
    module: &stack::Module<'_>,
) -> bool {
    let Some(place) = next_place(table, count) else { return false };
    let path = &module.path[module.path.len().saturating_sub(place.path.len())..];
    place.pid.store(pid, Ordering::Relaxed);
    place.base.store(module.base, Ordering::Relaxed);
    place.start.store(module.start, Ordering::Relaxed);
    place.end.store(module.end, Ordering::Relaxed);
    place.time.store(time, Ordering::Relaxed);
    let identity = module.identity();
    place.changed.store(identity.changed, Ordering::Relaxed);
    store(&place.build_id_len, &place.build_id, identity.build_id());
    store(&place.len, &place.path, path);
    // Pairs with the Acquire in `noted`.
    place.state.store(1, Ordering::Release);
    true
}

fn store(len: &AtomicU32, place: &[AtomicU8], bytes: &[u8]) {
    place.iter().zip(bytes).for_each(|(byte, value)| byte.store(*value, Ordering::Relaxed));
    len.store(bytes.len() as u32, Ordering::Relaxed);
}

fn load(len: &AtomicU32, place: &[AtomicU8]) -> Vec<u8> {
    let len = (len.load(Ordering::Relaxed) as usize).min(place.len());
    place[..len].iter().map(|byte| byte.load(Ordering::Relaxed)).collect()
}

/// The mappings at the used places from `first` onwards; None for a place whose program has not written it yet, or was
/// killed before.
pub(crate) fn noted(table: &Placed<[Module]>, count: &AtomicU32, first: usize) -> impl Iterator<Item = Option<Mapped>> {
    taken_places(table, count, first).iter().map(|place| {
        if place.state.load(Ordering::Acquire) != 1 {
            return None;
        }
        Some(Mapped {
            pid: place.pid.load(Ordering::Relaxed),
            base: place.base.load(Ordering::Relaxed),
            start: place.start.load(Ordering::Relaxed),
            end: place.end.load(Ordering::Relaxed),
            time: place.time.load(Ordering::Relaxed),
            changed: place.changed.load(Ordering::Relaxed),
            build_id: load(&place.build_id_len, &place.build_id),
            path: load(&place.len, &place.path).into_iter().take_while(|byte| *byte != 0).collect(),
        })
    })
}
