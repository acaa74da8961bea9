//! How long a call may wait for a lock that another member holds.

use std::time::Duration;

use headwater_os::futex::Slept;

use crate::error::Error;
use crate::member::Membership;
use crate::sync::{nap, now_ns};

/// How long a call may wait for a [`BiasedLock`](crate::BiasedLock) that another member holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// 100 us, in which a holder that runs leaves the lock: for a call that may have interrupted the holder. Then
    /// [`Error::WouldBlock`].
    Brief,
    /// The minimum: 10 ms, in which a holder that is runnable but has been preempted leaves the lock. Then
    /// [`Error::WouldBlock`].
    Now,
    /// Until that time of the monotonic clock, in ns: then [`Error::TimedOut`]; or until a signal handler runs.
    Until(u64),
    /// Until a signal handler runs: [`Error::Interrupted`].
    Signal,
    /// As long as it takes, signals or not: for operations that must not stop half-way.
    Unlimited,
}

impl Limit {
    /// The limit as one word, which threads share.
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

/// How long a call with [`Limit::Brief`] waits.
const BRIEF_NS: u64 = 100_000;
/// How long a call with [`Limit::Now`] waits.
const NOW_NS: u64 = 10_000_000;
/// How long a dead holder may go unnoticed, and a cancelled call continues to wait, while CPUs are free.
const WATCH_NS: u64 = 10_000_000;
/// A waiter that is woken late, because others want the CPU, sleeps this many times longer than it was late: thousands of waiters
/// that look at their holder must not take the CPU from it.
const LATE_FACTOR: u64 = 8;
/// But no longer than this.
const LATE_NS_MAX: u64 = 1_000_000_000;
/// After this many changes of the word without success a waiter sleeps: a hostile process can change the word for ever.
const VAIN_MAX: u32 = 1000;

/// One call's wait for a lock.
#[derive(Debug)]
pub(crate) struct Patience<'m> {
    me: &'m Membership,
    limit: Limit,
    /// The end of the wait; 0: the wait has not begun.
    until_ns: u64,
    /// How long the next sleep may last.
    watch_ns: u64,
    /// When the last sleep was to end.
    wake_ns: u64,
    /// How often the word changed without success.
    vain: u32,
    /// A signal handler has run.
    interrupted: bool,
    /// It has slept on the word, where others may sleep too.
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

    /// The longest allowed next sleep; zero once the time is over.
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
        // A call with one of the other limits is not interrupted.
        let can_be = matches!(self.limit, Limit::Until(_) | Limit::Signal);
        self.interrupted |= slept == Slept::Interrupted && can_be;
    }

    /// Decides whether the call continues to wait after it has found the holder alive.
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

    /// The word has changed, but the lock may still be held.
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
