//! Sleeping on a word and waking its sleepers, across processes.
//!
//! Used by `headwater-shm`, the sleep of streams, and the gauge's ring and futex lock. It never spins and never retries. The
//! caller knows what the word means and when to check it again.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};

/// The reason why [`wait`] returned. In every case the caller must check its condition again: a wake-up may be meant for an
/// earlier sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slept {
    /// Another thread has called [`wake`], or the wake-up was spurious.
    Woken,
    /// The word did not have the expected value, and the thread did not sleep.
    Changed,
    /// The timeout has passed.
    TimedOut,
    /// A signal handler ran.
    Interrupted,
}

/// Sleeps while `word` has the value `expected`, for at most `timeout` (`None`: no limit). The kernel compares and goes to
/// sleep in one step, so a change that is followed by a [`wake`] is never missed.
///
/// The word may be in shared memory, at a different address in each process.
///
/// # Errors
/// The errors of futex(2), except those that are reasons in [`Slept`].
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> io::Result<Slept> {
    // A duration beyond the kernel's range counts as no limit.
    let timeout = timeout.and_then(|duration| Timespec::try_from(duration).ok());
    match futex::wait(word, Flags::empty(), expected, timeout.as_ref()) {
        Ok(()) => Ok(Slept::Woken),
        Err(Errno::AGAIN) => Ok(Slept::Changed),
        Err(Errno::TIMEDOUT) => Ok(Slept::TimedOut),
        Err(Errno::INTR) => Ok(Slept::Interrupted),
        Err(error) => Err(error.into()),
    }
}

/// Wakes up to `count` threads that sleep on `word`, in any process. Returns the number of threads that it woke.
///
/// # Errors
/// The errors of futex(2).
pub fn wake(word: &AtomicU32, count: u32) -> io::Result<usize> {
    // The kernel takes the count as a signed number.
    Ok(futex::wake(word, Flags::empty(), count.min(i32::MAX as u32))?)
}

/// Like [`wait`], on the lower half of a 64-bit word: sleeps while that half is equal to the lower half of `expected`.
///
/// # Errors
/// Those of [`wait`].
pub fn wait_low(word: &AtomicU64, expected: u64, timeout: Option<Duration>) -> io::Result<Slept> {
    wait(low_half(word), expected as u32, timeout)
}

/// Wakes up to `count` threads that sleep in [`wait_low`] on `word`.
///
/// # Errors
/// Those of [`wake`].
pub fn wake_low(word: &AtomicU64, count: u32) -> io::Result<usize> {
    wake(low_half(word), count)
}

/// Returns the half of a word with the lower bits. Only the kernel accesses it as a separate word.
fn low_half(word: &AtomicU64) -> &AtomicU32 {
    let halves = std::ptr::from_ref(word).cast::<AtomicU32>();
    // SAFETY: both halves are inside the borrowed word, whose alignment is enough for each of them.
    unsafe { &*halves.add(usize::from(cfg!(target_endian = "big"))) }
}

/// Sleeps for `duration`, or until a signal handler has run. Returns [`Slept::TimedOut`] or [`Slept::Interrupted`].
///
/// # Errors
/// The errors of futex(2).
pub fn nap(duration: Duration) -> io::Result<Slept> {
    static NEVER: AtomicU32 = AtomicU32::new(0);
    wait(&NEVER, 0, Some(duration))
}

#[cfg(test)]
mod tests;
