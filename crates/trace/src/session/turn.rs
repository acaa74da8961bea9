//! A lock for joining and leaving. Unlike a lock of the standard library, it does not block for ever in two cases: a
//! signal handler whose thread has the turn, and a process that was forked while another thread had it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use headwater_os::fork;

/// How long a thread sleeps before it looks again. To join takes a fifth of a millisecond.
const PAUSE: Duration = Duration::from_micros(50);

/// The lock of a process.
#[derive(Debug)]
pub(super) struct Turn(
    /// The [`fork::epoch`] of the process whose thread has it; 0: free.
    AtomicU64,
);

/// Holds the turn until it is dropped.
#[derive(Debug)]
pub(super) struct Taken<'a>(&'a Turn);

thread_local! {
    /// This thread has the turn, or is about to.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread has a turn: then this is a signal handler that has interrupted it, or a nested call.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

impl Turn {
    pub const fn new() -> Turn {
        Turn(AtomicU64::new(0))
    }

    /// Waits for the turn. None if this thread has it already.
    pub fn take(&self) -> Option<Taken<'_>> {
        if INSIDE.replace(true) {
            return None;
        }
        let here = fork::epoch();
        loop {
            let there = self.0.load(Ordering::Relaxed);
            // A thread of the parent process, which does not exist in this one.
            let is_free = there == 0 || there != here;
            // Acquire pairs with the Release in `drop`: the sessions joined meanwhile are visible.
            if is_free && self.0.compare_exchange(there, here, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Some(Taken(self));
            }
            if !is_free {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Release);
        INSIDE.set(false);
    }
}
