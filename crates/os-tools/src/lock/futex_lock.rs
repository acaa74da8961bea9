//! A lock of three states on one futex, after Ulrich Drepper, "Futexes Are Tricky" (2011), section 6, `mutex3`.
//!
//! It does not adapt: it never spins, so its figure is what the bare system call costs under contention. Without
//! contention it stays in user space: one compare-and-exchange to take it, one exchange to give it back.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::shared::{ProcessShared, Shared};
use headwater_os::futex;

/// Free.
const FREE: u32 = 0;
/// Held, without sleepers.
const HELD: u32 = 1;
/// Held, and threads may sleep.
const CONTENDED: u32 = 2;

/// A lock of our own.
#[derive(Debug)]
pub struct FutexLock {
    /// Every thread may write [`HELD`] over [`FREE`] and [`CONTENDED`] over anything; the holder alone writes [`FREE`].
    state: AtomicU32,
}

// SAFETY: one atomic, changed through shared references; no pointer, no destructor.
unsafe impl ProcessShared for FutexLock {}

impl FutexLock {
    /// A free lock in memory of its own, which children forked later share.
    ///
    /// # Errors
    /// What `mmap(2)` reports.
    pub fn shared() -> io::Result<Shared<FutexLock>> {
        Shared::new(FutexLock { state: AtomicU32::new(FREE) })
    }

    /// Waits until it is free and takes it until the guard is dropped. Locking it twice in one thread waits for ever.
    ///
    /// # Errors
    /// What `futex(2)` reports: nothing, unless a filter forbids it.
    #[inline]
    pub fn lock(&self) -> io::Result<FutexLockGuard<'_>> {
        // Acquire pairs with the Release in `FutexLockGuard::drop`.
        match self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {}
            Err(seen) => self.lock_contended(seen)?,
        }
        Ok(FutexLockGuard { lock: self })
    }

    /// A thread that has slept cannot know whether others sleep, so it takes the lock as contended: at most one wake-up
    /// too many.
    #[cold]
    fn lock_contended(&self, mut seen: u32) -> io::Result<()> {
        // The Acquires below pair with the Release in `FutexLockGuard::drop`.
        if seen != CONTENDED {
            seen = self.state.swap(CONTENDED, Ordering::Acquire);
        }
        while seen != FREE {
            futex::wait(&self.state, CONTENDED, None)?;
            seen = self.state.swap(CONTENDED, Ordering::Acquire);
        }
        Ok(())
    }
}

/// Holds a [`FutexLock`].
#[derive(Debug)]
pub struct FutexLockGuard<'a> {
    lock: &'a FutexLock,
}

impl Drop for FutexLockGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release pairs with the Acquires in `FutexLock::lock` and `lock_contended`.
        if self.lock.state.swap(FREE, Ordering::Release) == CONTENDED {
            wake_one(&self.lock.state);
        }
    }
}

#[cold]
fn wake_one(state: &AtomicU32) {
    // A wake-up cannot fail on a word that is mapped; if a filter forbade it, the wait would have failed before.
    let _ = futex::wake(state, 1);
}
