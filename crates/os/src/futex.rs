//! Sleeping on a word and waking its sleepers, across processes.
//!
//! Used by `headwater-shm`, the streams' sleep and the gauge's ring and futex lock. It never spins and never retries: what the
//! word means, and when to look again, is the caller's business.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};

/// Why [`wait`] came back. Whatever it says, the caller looks at its condition again: a wake-up may be meant for an
/// earlier sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slept {
    /// Another thread called [`wake`], or the kernel woke us for no reason.
    Woken,
    /// The word did not hold the expected value; we did not sleep.
    Changed,
    /// The time is over.
    TimedOut,
    /// A signal handler ran.
    Interrupted,
}

/// Sleeps while `word` holds `expected`, for at most `timeout` (None: no bound). The kernel compares and goes to sleep
/// in one step, so a change followed by a [`wake`] is never missed.
///
/// The word may lie in shared memory; processes meet by the page, not by the address.
///
/// # Errors
/// The errors of futex(2), except those that are reasons in [`Slept`].
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> io::Result<Slept> {
    // A duration beyond the kernel's range is as good as no bound.
    let timeout = timeout.and_then(|duration| Timespec::try_from(duration).ok());
    match futex::wait(word, Flags::empty(), expected, timeout.as_ref()) {
        Ok(()) => Ok(Slept::Woken),
        Err(Errno::AGAIN) => Ok(Slept::Changed),
        Err(Errno::TIMEDOUT) => Ok(Slept::TimedOut),
        Err(Errno::INTR) => Ok(Slept::Interrupted),
        Err(error) => Err(error.into()),
    }
}

/// Wakes up to `count` threads that sleep on `word`, in any process; returns how many there were.
///
/// # Errors
/// The errors of futex(2).
pub fn wake(word: &AtomicU32, count: u32) -> io::Result<usize> {
    // The kernel takes the count as a signed number.
    Ok(futex::wake(word, Flags::empty(), count.min(i32::MAX as u32))?)
}

/// As [`wait`], on the lower half of a word of 64 bits: sleeps while that half has the value that it has in `expected`.
///
/// # Errors
/// Those of [`wait`].
pub fn wait_low(word: &AtomicU64, expected: u64, timeout: Option<Duration>) -> io::Result<Slept> {
    wait(low_half(word), expected as u32, timeout)
}

/// Wakes up to `count` threads that sleep on `word` by [`wait_low`].
///
/// # Errors
/// Those of [`wake`].
pub fn wake_low(word: &AtomicU64, count: u32) -> io::Result<usize> {
    wake(low_half(word), count)
}

/// The half of a word that has its lower bits. Only the kernel uses it as a word of its own.
fn low_half(word: &AtomicU64) -> &AtomicU32 {
    let halves = std::ptr::from_ref(word).cast::<AtomicU32>();
    // SAFETY: both halves lie inside of the borrowed word, which is aligned for more than a half.
    unsafe { &*halves.add(usize::from(cfg!(target_endian = "big"))) }
}

/// Sleeps for `duration`, or until a signal handler runs: [`Slept::TimedOut`] or [`Slept::Interrupted`].
///
/// # Errors
/// The errors of futex(2).
pub fn nap(duration: Duration) -> io::Result<Slept> {
    static NEVER: AtomicU32 = AtomicU32::new(0);
    wait(&NEVER, 0, Some(duration))
}

#[cfg(test)]
mod tests;
