//! The word of flags of one side of a lane: what it waits for, and how it is told. What loom models of waiting.
//!
//! A waiter sets its flag and looks once more (Dekker's pattern, with a barrier that reaches the other side); whoever
//! publishes looks at the other side's word afterwards.

use headwater_shm::probe;
use headwater_shm::sync::{Fence, Ordering, fence};

use crate::error::Result;
use crate::layout::Side;

/// A process of this side sleeps on the side's own word.
pub(crate) const FUTEX: u32 = 1;
/// The side's descriptor is to tell when something has happened.
pub(crate) const BELL: u32 = 2;
/// A handle of this side was closed: the other end asks the kernel whether it was the last. It stays if it was.
pub(crate) const LOOK: u32 = 4;
/// A queue below wants to be enabled when there is room; see `sched`.
pub(crate) const SERVICE: u32 = 8;
/// As [`BELL`], and some process is telling at this moment, or was killed while it did: whoever sees it tells, too.
pub(crate) const RINGING: u32 = 16;
/// No process has used this end yet. Whoever writes makes sure that nobody else reads what it sends to the descriptor.
pub(crate) const UNMET: u32 = 32;
/// The other end was asked to ring.
pub(crate) const ECHO: u32 = 64;

/// Queues below are to be enabled, and whoever wanted to could not, because another was in the middle of a call there: that
/// one does it when it comes out.
pub(crate) const OWED: u32 = 512;

/// The other side is to pass a full fence between its publication and its look at this word. Set by a waiter that is about to
/// interrupt the other side by membarrier(2).
pub(crate) const FENCING: u32 = 128;
/// It does so: the waiter's barrier is over, and those that come now need none. Both are cleared by the other side when no
/// waiter has come for [`QUIET`] publications.
pub(crate) const FENCED: u32 = 256;

/// Some microseconds of a barrier, divided by some nanoseconds of a fence.
pub(crate) const QUIET: u32 = if cfg!(loom) { 2 } else { 128 };

/// What orders a waiter's flag before its look, if the other side passes no fence.
pub(crate) trait Barrier {
    /// Whether the other side passes none of its own accord.
    fn is_asymmetric(&self) -> bool;
    /// Has every member pass a full fence now.
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

/// Whether the flags concern more than the order of looks.
pub(crate) fn calls_for_more(word: u32) -> bool {
    word & !(FENCING | FENCED) != 0
}

/// Sets flags of our side, and orders that before whatever is looked at next. Pairs with the light fence between a
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
    // Before the barrier: who looks at the word after it sees the flag.
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

/// The flags of the other side, for whoever has published something for it. `quiet` counts how often no waiter was there.
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

/// If the side's descriptor is to tell, has `tell` do it: first that, then the flag, so that another does it if we die. A
/// waiter that arms the side meanwhile is not disturbed.
pub(crate) fn tell_by_descriptor<T>(side: &Side, tell: impl FnOnce() -> T) -> Option<T> {
    if side.sleep.load(Ordering::Relaxed) & (BELL | RINGING) == 0 {
        return None;
    }
    // AcqRel pairs with the same of whoever arms: it sees what we have published, or we see its arming.
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
