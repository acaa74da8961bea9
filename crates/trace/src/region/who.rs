//! The threads of a session: each stores its identity here before it writes its first record. A record in a log would
//! be the first to be overwritten, or could find the log full.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use headwater_shm::{Placed, shareable};

use super::{next_place, taken_places};

/// The number of threads in the table. A thread that comes later identifies itself by a record.
pub const WHO_MAX: usize = 4096;

shareable! {
    /// A thread. The thread that raised the header's count to this place writes it, once.
    pub(crate) struct Who {
        /// 1: written.
        state: AtomicU32,
        thread: AtomicU32,
        pid: AtomicU32,
        len: AtomicU32,
        time: AtomicU64,
        name: [AtomicU8; 16],
    }
}

/// The identity of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// When, in the session's ticks.
    pub time: u64,
    /// Its id.
    pub thread: u32,
    /// That of its process.
    pub pid: u32,
    /// Without a NUL; any bytes.
    pub name: Vec<u8>,
}

/// Stores a thread at the next place according to `count`; returns whether there was one. Allocates nothing.
pub(crate) fn note(table: &Placed<[Who]>, count: &AtomicU32, time: u64, thread: u32, pid: u32, name: &str) -> bool {
    let Some(place) = next_place(table, count) else { return false };
    place.thread.store(thread, Ordering::Relaxed);
    place.pid.store(pid, Ordering::Relaxed);
    place.time.store(time, Ordering::Relaxed);
    let len = name.len().min(place.name.len());
    place.name.iter().zip(name.bytes()).for_each(|(byte, value)| byte.store(value, Ordering::Relaxed));
    place.len.store(len as u32, Ordering::Relaxed);
    // Pairs with the Acquire in `noted`.
    place.state.store(1, Ordering::Release);
    true
}

/// The threads at the used places from `first` onwards; None for a place whose thread has not written it yet, or was
/// killed before.
pub(crate) fn noted(table: &Placed<[Who]>, count: &AtomicU32, first: usize) -> impl Iterator<Item = Option<Greeting>> {
    taken_places(table, count, first).iter().map(|place| {
        if place.state.load(Ordering::Acquire) != 1 {
            return None;
        }
        let len = (place.len.load(Ordering::Relaxed) as usize).min(place.name.len());
        let name = place.name[..len].iter().map(|byte| byte.load(Ordering::Relaxed));
        Some(Greeting {
            time: place.time.load(Ordering::Relaxed),
            thread: place.thread.load(Ordering::Relaxed),
            pid: place.pid.load(Ordering::Relaxed),
            name: name.take_while(|byte| *byte != 0).collect(),
        })
    })
}
