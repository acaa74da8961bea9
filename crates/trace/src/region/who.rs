//! The threads of a session: what each says of itself before it writes its first record. Here it stays, while a record in a log
//! would be the first that is overwritten, or find a log full.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use headwater_shm::{Placed, shareable};

/// Threads in a session. Who comes later says who it is by a record.
pub const WHO_MAX: usize = 4096;

shareable! {
    /// A thread. Who has raised the header's count to its place writes it, once.
    pub(crate) struct Who {
        /// 1: it is there.
        state: AtomicU32,
        thread: AtomicU32,
        pid: AtomicU32,
        len: AtomicU32,
        time: AtomicU64,
        name: [AtomicU8; 16],
    }
}

/// What a thread has said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// When, in the session's ticks.
    pub time: u64,
    /// Its id.
    pub thread: u32,
    /// That of its process.
    pub pid: u32,
    /// Without a NUL; whatever stands there.
    pub name: Vec<u8>,
}

/// Notes a thread at the next place that `count` tells; whether there was one. Allocates nothing.
pub(crate) fn note(table: &Placed<[Who]>, count: &AtomicU32, time: u64, thread: u32, pid: u32, name: &str) -> bool {
    // It does not overflow: by then each of 2^32 threads would have been.
    if count.load(Ordering::Relaxed) as usize >= table.len() {
        return false;
    }
    let Some(place) = table.get(count.fetch_add(1, Ordering::Relaxed) as usize) else { return false };
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

/// The threads at the places from `first` on that have been taken; None for one whose thread has not said so yet, or was killed
/// before.
pub(crate) fn noted(table: &Placed<[Who]>, count: &AtomicU32, first: usize) -> impl Iterator<Item = Option<Greeting>> {
    let taken = (count.load(Ordering::Relaxed) as usize).min(table.len());
    table[first.min(taken)..taken].iter().map(|place| {
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
