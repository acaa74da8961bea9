//! The asymmetric fence: two sides each write one word and then read the other's (Dekker's pattern). One side does it
//! on every operation, the other only before it sleeps; the second pays for both.
//!
//! Used by `headwater-shm`'s biased locks, the streams' sleep and the gauge's ring. Both sides must use the same kind, so the
//! process that creates a shared region writes the kind into it, and a process that attaches calls [`Fence::join`] with the
//! kind that it finds there. It never falls back on its own: a process that cannot join must not attach, because the other
//! side has already stopped paying for a real fence.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence, fence};

use rustix::thread::{MembarrierCommand, MembarrierQuery};

use crate::fork;

/// How the two sides of a Dekker pattern are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Fence {
    /// A sequentially consistent fence on both sides. Correct everywhere.
    Symmetric = 1,
    /// membarrier(2) GLOBAL_EXPEDITED on the heavy side, a compiler fence on the light side. Correct if every process
    /// that uses the light side has joined.
    Asymmetric = 2,
}

impl Fence {
    /// The best kind that this kernel offers, remembered by the process. For the creator of a region.
    pub fn best() -> Fence {
        // The number of the kind; 0 before it is known. No lock: a child that was forked while another thread held it would
        // wait for ever. Threads that probe at the same time find the same.
        static BEST: AtomicU32 = AtomicU32::new(0);
        if let Some(known) = Fence::from_number(BEST.load(Ordering::Relaxed)) {
            return known;
        }
        let found = if !cfg!(miri) && register().is_ok() { Fence::Asymmetric } else { Fence::Symmetric };
        BEST.store(found as u32, Ordering::Relaxed);
        found
    }

    /// The kind that a creator wrote as a number, or `None` for a number that is none.
    pub fn from_number(number: u32) -> Option<Fence> {
        [Fence::Symmetric, Fence::Asymmetric].into_iter().find(|kind| *kind as u32 == number)
    }

    /// Whether the light side pays nothing.
    #[inline(always)]
    pub fn is_asymmetric(self) -> bool {
        self == Fence::Asymmetric
    }

    /// Makes this process fit for the light side. Every process calls it before its first use, a forked child and a
    /// process after execve again.
    ///
    /// # Errors
    /// `Unsupported` if the kind is asymmetric and the kernel (or a seccomp filter) refuses the registration.
    pub fn join(self) -> io::Result<()> {
        match self {
            Fence::Symmetric => Ok(()),
            Fence::Asymmetric => register(),
        }
    }

    /// Orders this side's write before its read, on the side that does it often. Pairs with [`Fence::heavy`].
    #[inline(always)]
    pub fn light(self) {
        match self {
            // The processor may still delay the write; the other side's membarrier interrupts us in time.
            Fence::Asymmetric => compiler_fence(Ordering::SeqCst),
            Fence::Symmetric => fence(Ordering::SeqCst),
        }
    }

    /// Orders this side's write before its read, on the side about to sleep. Pairs with [`Fence::light`]: of the two
    /// sides at least one sees the other's write. Takes some microseconds when asymmetric.
    ///
    /// # Errors
    /// The errors of membarrier(2); after an error nothing is ordered and the caller must not sleep.
    pub fn heavy(self) -> io::Result<()> {
        match self {
            // The kernel orders the caller itself by full barriers at entry and exit of the call.
            Fence::Asymmetric => Ok(rustix::thread::membarrier(MembarrierCommand::GlobalExpedited)?),
            Fence::Symmetric => {
                fence(Ordering::SeqCst);
                Ok(())
            }
        }
    }
}

/// The [`fork::epoch`] of the process that is registered; 0: none is.
static REGISTERED: AtomicU64 = AtomicU64::new(0);

/// Registers the process, as the target of others' barriers. Once: exec loses it, and with it this word; a forked child has
/// another epoch.
fn register() -> io::Result<()> {
    let process = fork::epoch();
    // Relaxed: the kernel has done it before the word says so, and nothing is published with it.
    if REGISTERED.load(Ordering::Relaxed) == process {
        return Ok(());
    }
    let needed = MembarrierQuery::GLOBAL_EXPEDITED | MembarrierQuery::REGISTER_GLOBAL_EXPEDITED;
    if !rustix::thread::membarrier_query().contains(needed) {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel offers no global expedited membarrier"));
    }
    rustix::thread::membarrier(MembarrierCommand::RegisterGlobalExpedited).map_err(|errno| {
        io::Error::new(io::ErrorKind::Unsupported, format!("cannot register for membarrier: {errno}"))
    })?;
    REGISTERED.store(process, Ordering::Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests;
