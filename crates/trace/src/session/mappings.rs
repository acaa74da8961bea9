//! Which executable mappings of this process a session has been told: programs map further files while they run (dlopen(3)),
//! and close them. An event with a stack looks for new ones if it has an address in none that is known, and once a second.
//!
//! In signal handlers too: nothing here allocates or waits. Who looks reads /proc/self/maps, some 50 us, so fruitless looking
//! becomes rare: code that a program generates lies in no file.

use std::sync::atomic::{AtomicU64, Ordering};

use headwater_os::stack::{self, Module};

/// Mappings that are remembered; further ones are not told.
const KNOWN_MAX: usize = 512;

/// How long after a fruitless look the next may follow: first this, and each time twice as long.
const PAUSE_MIN_NS: u64 = 1_000_000;
/// The longest such time, and how long a file may go unnoticed that was mapped in the place of another.
const PAUSE_MAX_NS: u64 = 1_000_000_000;

/// The mappings that a session knows.
#[derive(Debug)]
pub(super) struct Mappings {
    /// The [`fork::epoch`](headwater_os::fork::epoch) of the process whose mappings they are; 0: none. The thread that
    /// looks writes it, and the rest but `looking`.
    process: AtomicU64,
    /// The same of the process of which a thread looks; 0: none does.
    looking: AtomicU64,
    /// When the last look was, and how long after it the next may follow that has no better reason than an unknown address.
    looked_ns: AtomicU64,
    pause_ns: AtomicU64,
    known: Box<[Known]>,
}

/// A mapping, or a free place of the list, whose addresses are equal. A thread that reads it while it changes takes an address for
/// known or unknown that is not: it looks once too often, or at its next event.
#[derive(Debug, Default)]
struct Known {
    start: AtomicU64,
    end: AtomicU64,
    inode: AtomicU64,
}

impl Known {
    fn range(&self) -> std::ops::Range<u64> {
        self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed)
    }

    fn is(&self, module: &Module<'_>) -> bool {
        self.range() == (module.start..module.end) && self.inode.load(Ordering::Relaxed) == module.inode
    }

    fn set(&self, start: u64, end: u64, inode: u64) {
        self.end.store(end, Ordering::Relaxed);
        self.start.store(start, Ordering::Relaxed);
        self.inode.store(inode, Ordering::Relaxed);
    }
}

impl Mappings {
    pub fn new() -> Mappings {
        Mappings {
            process: AtomicU64::new(0),
            looking: AtomicU64::new(0),
            looked_ns: AtomicU64::new(0),
            pause_ns: AtomicU64::new(0),
            known: (0..KNOWN_MAX).map(|_| Known::default()).collect(),
        }
    }

    /// Looks for new mappings if there may be some, and passes each to `tell`, which returns whether it could take it.
    /// `here` is the process, by its epoch; `frames` are the return addresses of an event, which end with the first 0. Returns whether
    /// it has looked.
    pub fn notice(&self, here: u64, frames: &[u64], now_ns: u64, tell: impl FnMut(&Module<'_>) -> bool) -> bool {
        let is_first = self.process.load(Ordering::Relaxed) != here;
        let since_ns = now_ns.saturating_sub(self.looked_ns.load(Ordering::Relaxed));
        let is_due = is_first
            || since_ns >= PAUSE_MAX_NS
            || since_ns >= self.pause_ns.load(Ordering::Relaxed) && !self.are_known(frames);
        is_due && self.look(here, frames, now_ns, tell)
    }

    fn are_known(&self, frames: &[u64]) -> bool {
        let mut last = None;
        frames.iter().take_while(|address| **address != 0).all(|address| {
            // Most frames are in the file of the one before.
            let has = |known: &&Known| known.range().contains(address);
            last = last.filter(has).or_else(|| self.known.iter().find(has));
            last.is_some()
        })
    }

    #[cold]
    fn look(&self, here: u64, frames: &[u64], now_ns: u64, mut tell: impl FnMut(&Module<'_>) -> bool) -> bool {
        let other = self.looking.load(Ordering::Relaxed);
        // In a forked child the thread that was looking does not exist. Acquire pairs with the Release below.
        if other == here || self.looking.compare_exchange(other, here, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        if self.process.load(Ordering::Relaxed) != here {
            self.known.iter().for_each(|known| known.set(0, 0, 0));
            self.pause_ns.store(0, Ordering::Relaxed);
        }
        stack::modules(|module| {
            if self.known.iter().any(|known| known.is(&module)) {
                return;
            }
            // What was there before has been closed. If it is mapped there again, it is new.
            let overlaps = |known: &&Known| known.range().start < module.end && module.start < known.range().end;
            self.known.iter().filter(overlaps).for_each(|known| known.set(0, 0, 0));
            if let Some(free) = self.known.iter().find(|known| known.range().is_empty())
                && tell(&module)
            {
                free.set(module.start, module.end, module.inode);
            }
        });
        let pause_ns = match self.are_known(frames) {
            true => 0,
            false => (2 * self.pause_ns.load(Ordering::Relaxed)).clamp(PAUSE_MIN_NS, PAUSE_MAX_NS),
        };
        self.pause_ns.store(pause_ns, Ordering::Relaxed);
        self.looked_ns.store(now_ns, Ordering::Relaxed);
        self.process.store(here, Ordering::Relaxed);
        self.looking.store(0, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests;
