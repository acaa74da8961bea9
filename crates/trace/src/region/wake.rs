//! How programs and the consumer wake each other. A program wakes the consumer when a log is as full as that wanted to know;
//! the consumer wakes programs whose events wait for room.
//!
//! An event waits for at most the time that the session's creator has set. If the consumer has copied nothing for that long
//! (it is frozen, was killed, or its disk is full), the event is lost, and no other event of any program waits until the consumer
//! copies again. No conclusion is drawn from the time: whether the consumer still lives is of no interest here.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

use headwater_os::{clock, futex};
use headwater_shm::shareable;

use super::{OVER, Region};

/// The longest time for which an event can wait for room: see [`Region::set_wait`].
pub const WAIT_MAX: Duration = Duration::from_secs(60);

shareable! {
    /// What programs and the consumer wake each other with.
    pub(crate) struct Wakes {
        /// Raised by a program that wakes the consumer, which sleeps on it.
        wake_ups: AtomicU32,
        /// How long an event waits for room, ns. The creator writes it, before a program joins.
        wait_ns: AtomicU64,
        /// Raised by the consumer after it has made room, and at the session's end. Programs sleep on it.
        copies: AtomicU32,
        /// 1: a program sleeps on `copies`, or is about to. Programs set it, the consumer clears it.
        awaited: AtomicU32,
        /// `copies` plus 1 if an event has waited for so long that it was lost, and nothing was copied meanwhile.
        stalled: AtomicU32,
        /// How often programs have slept on `copies`, and for how long, ns. Added to by programs.
        waits: AtomicU64,
        waited_ns: AtomicU64,
    }
}

/// The waits of programs for room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waited {
    /// How often a program has slept.
    pub count: u64,
    /// The time of all of them together.
    pub time: Duration,
}

/// The wait of one event for room in its log.
#[derive(Debug, Default)]
pub(crate) struct Wait {
    /// When it began, and the copies until then.
    begin: Option<(u64, u32)>,
    /// The copies before the last attempt to append.
    known: u32,
}

impl Wakes {
    pub fn wait(&self) -> Duration {
        Duration::from_nanos(self.wait_ns.load(Ordering::Relaxed)).min(WAIT_MAX)
    }
}

impl Region {
    /// Ends the session: programs stop recording.
    pub fn end(&self) {
        self.header.state.store(OVER, Ordering::Relaxed);
        // Programs look again when it changes. Release: they find the session over.
        self.header.selection.fetch_add(2, Ordering::Release);
        self.wake_waiting();
    }

    /// Wakes the consumer, if it waits. Allocates nothing, and does not wait: it may be in a signal handler.
    pub fn wake_consumer(&self) {
        self.header.wakes.wake_ups.fetch_add(1, Ordering::Release);
        // One waits: see `claim`.
        let _ = futex::wake(&self.header.wakes.wake_ups, 1);
    }

    /// How often the consumer was woken, for [`Region::wait_for_wake_up`].
    pub fn wake_ups(&self) -> u32 {
        self.header.wakes.wake_ups.load(Ordering::Acquire)
    }

    /// Sleeps until the consumer is woken, at most for a time, or comes back for no reason. Does not sleep if it was woken
    /// since [`Region::wake_ups`] was `known`. For one thread of the consumer.
    ///
    /// # Errors
    /// What futex(2) reports.
    pub fn wait_for_wake_up(&self, known: u32, timeout: Duration) -> io::Result<()> {
        futex::wait(&self.header.wakes.wake_ups, known, Some(timeout)).map(drop)
    }

    /// Sets for how long an event that finds its log full waits for the consumer: 0 (at first) to [`WAIT_MAX`]. For the creator,
    /// before a program joins. In logs that are overwritten no event waits.
    ///
    /// # Errors
    /// `InvalidInput` for a longer time.
    pub fn set_wait(&self, longest: Duration) -> io::Result<()> {
        if longest > WAIT_MAX {
            let why = format!("events wait for {} s at most", WAIT_MAX.as_secs());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        self.header.wakes.wait_ns.store(longest.as_nanos() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// The waits of programs for room so far. Any program of the session may have changed it.
    pub fn waited(&self) -> Waited {
        let Wakes { waits, waited_ns, .. } = &self.header.wakes;
        let time = Duration::from_nanos(waited_ns.load(Ordering::Relaxed));
        Waited { count: waits.load(Ordering::Relaxed), time }
    }

    /// Wakes the programs that wait for room. For the consumer, after it has released a part of a log.
    pub fn wake_waiting(&self) {
        let Wakes { copies, awaited, .. } = &self.header.wakes;
        copies.fetch_add(1, Ordering::Release);
        // Pairs with the one in `expect_room`: a program that has found no room is seen here, or it finds the room.
        fence(Ordering::SeqCst);
        if awaited.load(Ordering::Relaxed) != 0 && awaited.swap(0, Ordering::Relaxed) != 0 {
            let _ = futex::wake(copies, u32::MAX);
        }
    }

    /// Waits for room, after an append that found none; returns whether to append again. May be in a signal handler.
    pub(crate) fn wait_for_room(&self, wait: &mut Wait) -> bool {
        if self.wait.is_zero() {
            return false;
        }
        let Wakes { copies, stalled, .. } = &self.header.wakes;
        let now = clock::now_ns();
        let Some((begin, copied)) = wait.begin else {
            // The next append may find room that was made before the consumer could know that an event waits for it.
            wait.known = self.expect_room();
            wait.begin = Some((now, wait.known));
            return !self.is_over() && !self.is_stalled(wait.known);
        };
        let left = self.wait.saturating_sub(Duration::from_nanos(now.saturating_sub(begin)));
        if self.is_over() || self.is_stalled(wait.known) {
            return false;
        }
        if left.is_zero() {
            if copies.load(Ordering::Relaxed) == copied {
                stalled.store(copied.wrapping_add(1), Ordering::Relaxed);
            }
            return false;
        }
        self.sleep(wait.known, left, now);
        wait.known = self.expect_room();
        true
    }

    /// Lets the consumer know that an event waits for room. Returns the copies until then.
    fn expect_room(&self) -> u32 {
        let Wakes { copies, awaited, .. } = &self.header.wakes;
        let known = copies.load(Ordering::Acquire);
        awaited.store(1, Ordering::Relaxed);
        // Pairs with the one in `wake_waiting`.
        fence(Ordering::SeqCst);
        known
    }

    /// Whether an event has waited for too long since then.
    fn is_stalled(&self, copies: u32) -> bool {
        self.header.wakes.stalled.load(Ordering::Relaxed) == copies.wrapping_add(1)
    }

    fn sleep(&self, known: u32, longest: Duration, now: u64) {
        let Wakes { copies, waits, waited_ns, .. } = &self.header.wakes;
        self.wake_consumer();
        let _ = futex::wait(copies, known, Some(longest));
        waits.fetch_add(1, Ordering::Relaxed);
        waited_ns.fetch_add(clock::now_ns().saturating_sub(now), Ordering::Relaxed);
    }
}
