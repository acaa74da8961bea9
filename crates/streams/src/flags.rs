//! The word of flags of one side of a lane: what the side waits for, and how it is notified. Loom models this part of
//! waiting.
//!
//! A waiter sets its flag and looks once more (Dekker's pattern, with a barrier that reaches the other side); a process
//! that publishes looks at the other side's word afterwards.

use headwater_shm::probe;
use headwater_shm::sync::{Fence, Ordering, fence};

use crate::error::Result;
use crate::layout::Side;

/// A process of this side sleeps on the side's own word.
pub(crate) const FUTEX: u32 = 1;
/// The side wants to be notified through its descriptor.
pub(crate) const BELL: u32 = 2;
/// A handle of this side was closed: the other end asks the kernel whether it was the last. It stays if it was.
pub(crate) const LOOK: u32 = 4;
/// A queue below wants to be enabled when there is room; see `sched`.
pub(crate) const SERVICE: u32 = 8;
/// As [`BELL`], and a process is ringing at this moment, or was killed while it rang: every process that sees the flag
/// rings, too.
pub(crate) const RINGING: u32 = 16;
/// No process has used this end yet. A writer checks that no program without the library reads the notifications from
/// the descriptor.
pub(crate) const UNMET: u32 = 32;
/// The other end was asked to ring.
pub(crate) const ECHO: u32 = 64;

/// Queues below are to be enabled, but a process could not do it because another was in a call there: that process does
/// it when it leaves.
pub(crate) const OWED: u32 = 512;

/// Asks the other side to pass a full fence between its publication and its look at this word. Set by a waiter that is
/// about to interrupt the other side by membarrier(2).
pub(crate) const FENCING: u32 = 128;
/// The other side passes it: the waiter's barrier is over, and later waiters need none. Both are cleared by the other
/// side when no waiter has come for [`QUIET`] publications.
pub(crate) const FENCED: u32 = 256;

/// Some microseconds of a barrier, divided by some nanoseconds of a fence.
pub(crate) const QUIET: u32 = if cfg!(loom) { 2 } else { 128 };

/// What orders a waiter's flag before its look, if the other side passes no fence.
pub(crate) trait Barrier {
    /// Whether the other side passes none by itself.
    fn is_asymmetric(&self) -> bool;
    /// Makes every member pass a full fence now.
    fn heavy(&self) -> Result<()>;
}

impl Barrier for Fence {
    fn is_asymmetric(&self) -> bool {
        Fence::is_asymmetric(*self)
    }

    fn heavy(&self) -> Result<()> {
        Ok(Fence::heavy(*self)?)
    }
}

/// Whether the flags ask for a notification.
pub(crate) fn calls_for_more(word: u32) -> bool {
    word & !(FENCING | FENCED) != 0
}

/// Sets flags of our side, and orders that before the next loads. Pairs with the light fence between a
/// publication and the look at the flags, or with the fence in [`look_at`]: either the other side sees the flags, or we see
/// what it has published. Returns the word.
pub(crate) fn announce(side: &Side, set: u32, clear: u32, barrier: impl Barrier) -> Result<u32> {
    let changed = |word: u32| (word | set) & !clear;
    // AcqRel: a waker that has cleared a flag has published before; what we have stored before is passed on.
    let before = side.sleep.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| Some(changed(word)));
    let word = changed(before.unwrap_or_else(|word| word));
    probe::at();
    if word & FENCED != 0 || !barrier.is_asymmetric() {
        fence(Ordering::SeqCst);
        return Ok(word);
    }
    // Before the barrier: a process that reads the word after it sees the flag.
    side.sleep.fetch_or(FENCING, Ordering::AcqRel);
    probe::at();
    barrier.heavy()?;
    let fenced = |word: u32| (word & FENCING != 0).then_some(word | FENCED);
    // If the other side has cleared it meanwhile, the barrier was for this wait alone.
    Ok(side
        .sleep
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, fenced)
        .map_or_else(|word| word, |word| word | FENCED))
}

/// The flags of the other side, for a process that has published something for it. `quiet` counts how often no waiter
/// was there.
pub(crate) fn look_at(side: &Side, quiet: &mut u32) -> u32 {
    let word = side.sleep.load(Ordering::Relaxed);
    if word & FENCING == 0 {
        return word;
    }
    // Pairs with the fence in `announce`.
    fence(Ordering::SeqCst);
    let word = side.sleep.load(Ordering::Relaxed);
    if word & (FUTEX | BELL | RINGING) != 0 {
        *quiet = 0;
        return word;
    }
    *quiet += 1;
    if *quiet >= QUIET {
        *quiet = 0;
        // Fails if a waiter comes at this moment, which relies on the flag.
        let _ = side.sleep.compare_exchange(word, word & !(FENCING | FENCED), Ordering::AcqRel, Ordering::Relaxed);
    }
    word
}

/// Calls `tell` if the side wants to be notified through its descriptor. The flag is cleared after that, so that
/// another process notifies if this one dies in between. A waiter that arms the side meanwhile is not disturbed.
pub(crate) fn tell_by_descriptor<T>(side: &Side, tell: impl FnOnce() -> T) -> Option<T> {
    if side.sleep.load(Ordering::Relaxed) & (BELL | RINGING) == 0 {
        return None;
    }
    // AcqRel pairs with the same of the process that arms: it sees what we have published, or we see its arming.
    let telling = |word: u32| Some((word & !(BELL | ECHO)) | RINGING);
    let _ = side.sleep.fetch_update(Ordering::AcqRel, Ordering::Relaxed, telling);
    probe::at();
    let told = tell();
    probe::at();
    side.sleep.fetch_and(!RINGING, Ordering::Release);
    Some(told)
}

#[cfg(all(test, loom))]
mod loom_tests;
