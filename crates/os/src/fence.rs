//! The asymmetric fence, for Dekker's pattern: each of two sides writes its own word and then reads the other side's word. One
//! side does so on every operation, the other side only before it sleeps. The second side pays the cost of both fences.
//!
//! Used by the biased locks of `headwater-shm`, by the sleep of streams and by the gauge's ring. Both sides must use the same
//! kind of fence. So the process that creates a shared region writes the kind into it, and a process that attaches calls
//! [`Fence::join`] with that kind. There is no fallback: a process that cannot join must not attach, because the light side
//! uses no real fence any more.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence, fence};

use rustix::thread::{MembarrierCommand, MembarrierQuery};

use crate::fork;

/// The kind of ordering between the two sides of Dekker's pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Fence {
    /// A sequentially consistent fence on both sides. Always correct.
    Symmetric = 1,
    /// membarrier(2) GLOBAL_EXPEDITED on the heavy side, and a compiler fence on the light side. Correct if every process that
    /// uses the light side has joined.
    Asymmetric = 2,
}

impl Fence {
    /// Returns the best kind that this kernel supports. For the creator of a region. The result is cached.
    pub fn best() -> Fence {
        // The number of the kind; 0 before it is known. There is no lock: a child that was forked while another thread held it
        // would wait for ever. Threads that probe at the same time find the same kind.
        static BEST: AtomicU32 = AtomicU32::new(0);
        if let Some(known) = Fence::from_number(BEST.load(Ordering::Relaxed)) {
            return known;
        }
        let found = if !cfg!(miri) && register().is_ok() { Fence::Asymmetric } else { Fence::Symmetric };
        BEST.store(found as u32, Ordering::Relaxed);
        found
    }

    /// Returns the kind with this number; `None` if there is none.
    pub fn from_number(number: u32) -> Option<Fence> {
        [Fence::Symmetric, Fence::Asymmetric].into_iter().find(|kind| *kind as u32 == number)
    }

    /// Returns whether the light side costs nothing.
    #[inline(always)]
    pub fn is_asymmetric(self) -> bool {
        self == Fence::Asymmetric
    }

    /// Prepares this process to use the light side. Every process must call it before its first use, also a forked child, and
    /// a process after execve(2).
    ///
    /// # Errors
    /// `Unsupported` if the kind is asymmetric and the kernel (or a seccomp filter) refuses the registration.
    pub fn join(self) -> io::Result<()> {
        match self {
            Fence::Symmetric => Ok(()),
            Fence::Asymmetric => register(),
        }
    }

    /// Orders the write of the frequent side before its read. Pairs with [`Fence::heavy`].
    #[inline(always)]
    pub fn light(self) {
        match self {
            // The processor may still delay the write. The membarrier of the other side orders it in time.
            Fence::Asymmetric => compiler_fence(Ordering::SeqCst),
            Fence::Symmetric => fence(Ordering::SeqCst),
        }
    }

    /// Orders the write of the side that is about to sleep before its read. Pairs with [`Fence::light`]: at least one of the two
    /// sides sees the other's write. Takes some microseconds if asymmetric.
    ///
    /// # Errors
    /// The errors of membarrier(2). After an error nothing is ordered, and the caller must not sleep.
    pub fn heavy(self) -> io::Result<()> {
        match self {
            // Full barriers at the entry and the exit of the call order the caller itself.
            Fence::Asymmetric => Ok(rustix::thread::membarrier(MembarrierCommand::GlobalExpedited)?),
            Fence::Symmetric => {
                fence(Ordering::SeqCst);
                Ok(())
            }
        }
    }
}

/// The [`fork::epoch`] of the registered process; 0 if none is registered.
static REGISTERED: AtomicU64 = AtomicU64::new(0);

/// Registers the process as a target of barriers, once. Exec drops the registration and this word; a forked child has another
/// epoch, and registers again.
fn register() -> io::Result<()> {
    let process = fork::epoch();
    // Relaxed: the word is stored after the kernel has registered the process, and publishes nothing else.
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
