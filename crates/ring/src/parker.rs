//! A parker for one sleeper: the end of a ring that waits sleeps on its own status word, and the other end looks
//! at that word after each publication, paying a plain load.
//!
//! Dekker's pattern keeps wake-ups from being lost. The sleeper writes ASLEEP, passes the heavy fence and looks at the
//! indices once more; the other end publishes an index, passes the light fence and looks at the status. At least one
//! of them sees the other's write. The word is also the futex, so a wake-up between that look and the sleep is not lost
//! either: the kernel finds the word changed and does not sleep.
//!
//! It knows no ring: what "ready" means is the caller's. It never spins; see `wait`.

use std::io;
use std::time::Duration;

use headwater_os::futex::Slept;
use headwater_shm::sync::{Fence, Ordering, futex_wait, futex_wake};

use crate::layout::End;

/// The end runs and needs no wake-up. Also the state of an end that no process has attached yet.
pub(crate) const AWAKE: u32 = 0;
/// The end sleeps, or is about to look once more and then sleep.
pub(crate) const ASLEEP: u32 = 1;
/// The end is closed for good. The end itself stores this.
pub(crate) const CLOSED: u32 = 2;

/// The other end's status. One plain load; what it says is a snapshot, and any number may come from a hostile peer.
#[inline(always)]
pub(crate) fn status(end: &End) -> u32 {
    // Acquire pairs with the Release in `close`: a reader of CLOSED sees all that was published before.
    end.status.load(Ordering::Acquire)
}

/// Sleeps until the peer calls [`wake`], `ready` holds, or `timeout` is over; returns how that went,
/// `Changed` if we did not sleep. Only the owner of `own` calls it; it looks at its condition again whatever comes back.
pub(crate) fn sleep(own: &End, fence: Fence, timeout: Duration, mut ready: impl FnMut() -> bool) -> io::Result<Slept> {
    // Exchanges, because the peer also changes the word (ASLEEP to AWAKE, nothing else): the changes are one chain, and
    // an old one never hides a new one. Relaxed: ordered against the look below by the heavy fence, which pairs with
    // the light fence before the peer's load.
    own.status.swap(ASLEEP, Ordering::Relaxed);
    let slept = match fence.heavy() {
        Ok(()) if ready() => Ok(Slept::Changed),
        Ok(()) => futex_wait(&own.status, ASLEEP, Some(timeout)),
        Err(error) => Err(error),
    };
    own.status.swap(AWAKE, Ordering::Relaxed);
    slept
}

/// Wakes the end if it still sleeps; returns whether a system call was made. The caller has published before, and passed
/// the light fence.
pub(crate) fn wake(end: &End) -> bool {
    // Relaxed: the word carries no data, the indices do. The exchange makes one wake-up of one sleep.
    let turned = end.status.compare_exchange(ASLEEP, AWAKE, Ordering::Relaxed, Ordering::Relaxed);
    // A failed wake is no loss: the sleeper's own time limit is the rescue.
    turned.is_ok() && futex_wake(&end.status, 1).is_ok()
}

/// Marks our own end as gone for good and wakes the peer, which sleeps on its own word.
pub(crate) fn close(own: &End, peer: &End, fence: Fence) {
    // Release pairs with the Acquire in `status`. Ordered against the peer's status by the light fence.
    own.status.swap(CLOSED, Ordering::Release);
    fence.light();
    wake(peer);
}
