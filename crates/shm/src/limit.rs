//! The time limit of a call that waits for a lock, and the bookkeeping of its wait.

use std::time::Duration;

use headwater_os::futex::Slept;

use crate::error::Error;
use crate::member::Membership;
use crate::sync::{nap, now_ns};

/// The time limit of a call that waits for a [`BiasedLock`](crate::BiasedLock) of another member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Waits for 100 us, then fails with [`Error::WouldBlock`]. A running holder leaves the lock within this time. For a call that
    /// may have interrupted the holder.
    Brief,
    /// Waits for 10 ms, then fails with [`Error::WouldBlock`]. A holder that was preempted, and is runnable, leaves the lock within
    /// this time. For a call that must not block.
    Now,
    /// Waits until this time of the monotonic clock, in ns, then fails with [`Error::TimedOut`]. If a signal handler runs, fails with
    /// [`Error::Interrupted`].
    Until(u64),
    /// Waits until a signal handler runs, then fails with [`Error::Interrupted`].
    Signal,
    /// Waits as long as necessary, whatever signals arrive. For operations that must not stop half-way.
    Unlimited,
}

impl Limit {
    /// Encodes the limit in a word, which threads share.
    pub(crate) fn word(self) -> u64 {
        match self {
            Limit::Now => 0,
            Limit::Until(until_ns) => until_ns.clamp(1, u64::MAX - 3),
            Limit::Brief => u64::MAX - 2,
            Limit::Signal => u64::MAX - 1,
            Limit::Unlimited => u64::MAX,
        }
    }

    pub(crate) fn from_word(word: u64) -> Limit {
        match word {
            0 => Limit::Now,
            u64::MAX => Limit::Unlimited,
            signal if signal == u64::MAX - 1 => Limit::Signal,
            brief if brief == u64::MAX - 2 => Limit::Brief,
            until_ns => Limit::Until(until_ns),
        }
    }
}

/// The time that a call with [`Limit::Brief`] waits.
const BRIEF_NS: u64 = 100_000;
/// The time that a call with [`Limit::Now`] waits.
const NOW_NS: u64 = 10_000_000;
/// The interval at which a waiter checks whether its holder is dead, and whether its call was cancelled, while CPUs are free.
const WATCH_NS: u64 = 10_000_000;
/// A waiter that wakes up late, because other threads need the CPU, sleeps longer by this multiple of the delay. Otherwise thousands
/// of waiters that check their holder would take the CPU from it.
const LATE_FACTOR: u64 = 8;
/// The largest extension of a sleep.
const LATE_NS_MAX: u64 = 1_000_000_000;
/// The number of changes of the word, without getting the lock, after which a waiter sleeps. A hostile process can change the word
/// for ever.
const VAIN_MAX: u32 = 1000;

/// The state of a call's wait for a lock.
#[derive(Debug)]
pub(crate) struct Patience<'m> {
    me: &'m Membership,
    limit: Limit,
    /// The end of the wait; 0 before the wait has begun.
    until_ns: u64,
    /// The longest next sleep.
    watch_ns: u64,
    /// The planned end of the last sleep.
    wake_ns: u64,
    /// The number of changes of the word without getting the lock.
    vain: u32,
    /// A signal handler has run.
    interrupted: bool,
    /// The call has slept on the word, where other members may sleep too.
    pub slept: bool,
}

impl Patience<'_> {
    pub fn new(me: &Membership) -> Patience<'_> {
        let limit = me.limit();
        Patience {
            me,
            limit,
            until_ns: 0,
            watch_ns: WATCH_NS,
            wake_ns: u64::MAX,
            vain: 0,
            interrupted: false,
            slept: false,
        }
    }

    /// Returns the longest allowed next sleep; zero after the time limit.
    pub fn next(&mut self) -> Duration {
        let now_ns = now_ns();
        if self.until_ns == 0 {
            self.until_ns = match self.limit {
                Limit::Brief => now_ns + BRIEF_NS,
                Limit::Now => now_ns + NOW_NS,
                Limit::Until(until_ns) => until_ns,
                Limit::Signal | Limit::Unlimited => u64::MAX,
            };
        }
        let longest_ns = self.until_ns.saturating_sub(now_ns).min(self.watch_ns);
        self.wake_ns = now_ns + longest_ns;
        Duration::from_nanos(longest_ns)
    }

    pub fn note(&mut self, slept: Slept) {
        // Signals do not interrupt a call with one of the other limits.
        let can_be = matches!(self.limit, Limit::Until(_) | Limit::Signal);
        self.interrupted |= slept == Slept::Interrupted && can_be;
    }

    /// Decides whether the call continues to wait, after a check has found the holder alive.
    pub fn go_on(&mut self) -> Result<(), Error> {
        if self.interrupted {
            return Err(Error::Interrupted);
        }
        let late_ns = now_ns().saturating_sub(self.wake_ns);
        self.watch_ns = WATCH_NS + (LATE_FACTOR * late_ns).min(LATE_NS_MAX);
        if self.limit != Limit::Unlimited && self.me.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if self.until_ns != u64::MAX && self.next().is_zero() {
            let waits = !matches!(self.limit, Limit::Brief | Limit::Now);
            return Err(if waits { Error::TimedOut } else { Error::WouldBlock });
        }
        Ok(())
    }

    /// Counts a change of the word after which the lock may still be held, and sleeps after many of them.
    pub fn look_again(&mut self) -> Result<(), Error> {
        self.vain += 1;
        if self.vain.is_multiple_of(VAIN_MAX) {
            let longest = self.next().min(Duration::from_millis(1));
            let slept = nap(longest)?;
            self.note(slept);
            self.go_on()?;
        }
        Ok(())
    }
}
