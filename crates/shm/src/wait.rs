//! How an end waits for the other one: in stages from cheap and quick to slow and free.
//!
//! Used by both halves of the ring. It knows no index; the caller says what it waits for.

use std::time::Duration;

use headwater_os::futex::Slept;

use crate::error::Error;
use crate::eventcount;
use crate::layout::End;
use crate::owner::Peer;
use crate::sync::{Fence, Ordering, current_cpu, now_ns, spin_loop, yield_now};

/// What an end does while it cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Spins on the processor until it can. For measuring limits: the caller guarantees that the ends run on two CPUs,
    /// else each waits out the other's time slice.
    Spin,
    /// Spins for at most 20 us where the other end runs on another CPU, yields where it shares ours, then sleeps.
    Sleep,
}

/// How often an end did what, counted in its own process since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Wake-ups sent to the other end (one system call each).
    pub wakes: u64,
    /// Sleeps in the kernel.
    pub sleeps: u64,
    /// Sleeps that only the time limit ended although there was something to do: the peer was killed or held up between
    /// its publication and its wake-up. Anything else would be a lost wake-up.
    pub rescues: u64,
    /// Waits that spinning ended.
    pub spins: u64,
    /// Waits that yielding ended.
    pub yields: u64,
}

/// Spinning longer than it takes to be woken gains nothing: a wake-up across CPUs costs 5 to 50 us.
const SPIN_NS: u64 = 20_000;
/// PAUSE takes 10 to 150 cycles, so the clock, not a count, ends the spinning; it is read this seldom.
const SPINS_PER_CLOCK: u32 = 16;
/// A yield that finds the other end runnable ends the wait; two in vain mean that it is not.
const YIELDS: u32 = 2;
/// A yield that takes longer than this gave the CPU to others: their time slice is 1.4 to 4 ms, while the peer fills or
/// empties 64 KiB byte by byte in half a millisecond.
const YIELD_NS_MAX: u64 = 1_000_000;
/// After a slow yield this many waits go straight to sleep, four times as many after the next. 64 sleeps cost less than
/// the time slice that one slow yield loses.
const YIELDS_BARRED: std::ops::RangeInclusive<u32> = 64..=4096;
/// How long a killed peer can go unnoticed by an end that sleeps or spins.
pub(crate) const WATCH_EVERY: Duration = Duration::from_millis(100);
const WATCH_EVERY_NS: u64 = WATCH_EVERY.as_nanos() as u64;

/// Whether yielding pays. On a CPU that others use too, a yield gives them their whole time slice (milliseconds), while
/// a sleeper that is woken gets the CPU back soon. So slow yields bar yielding for a while.
#[derive(Debug, Default)]
struct Yields {
    /// Waits left that must not yield.
    barred: u32,
    /// How many the last slow yield barred; 0 after a quick one.
    last_barred: u32,
}

impl Yields {
    /// Whether this wait may yield.
    fn allowed(&mut self) -> bool {
        let allowed = self.barred == 0;
        self.barred = self.barred.saturating_sub(1);
        allowed
    }

    /// Notes how long a yield took; returns whether that was quick.
    fn took(&mut self, elapsed_ns: u64) -> bool {
        self.last_barred = match elapsed_ns {
            0..=YIELD_NS_MAX => 0,
            _ => (self.last_barred * 4).clamp(*YIELDS_BARRED.start(), *YIELDS_BARRED.end()),
        };
        self.barred = self.last_barred;
        self.barred == 0
    }
}

/// Why the wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// `ready` held, or 100 ms have passed: the caller tries again what it could not do. So a sender above the
    /// low-water mark uses what room there is after that time, though nobody wakes it.
    LookAgain,
    /// The process that holds the other end has ended.
    PeerEnded,
}

/// One end's policy, its view of the peer's life, and its counters.
#[derive(Debug)]
pub(crate) struct Waiter {
    policy: Wait,
    peer: Peer,
    yields: Yields,
    pub(crate) counters: Counters,
}

impl Waiter {
    pub(crate) fn new(policy: Wait) -> Waiter {
        Waiter { policy, peer: Peer::default(), yields: Yields::default(), counters: Counters::default() }
    }

    /// Waits until `ready` holds, at most 100 ms, or finds that the peer's process has ended. `ready` must become true
    /// by something that the peer publishes before it looks at our status, and must also hold when it has closed.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait(
        &mut self,
        own: &End,
        peer: &End,
        fence: Fence,
        mut ready: impl FnMut() -> bool,
    ) -> Result<Waited, Error> {
        if cfg!(loom) {
            // The stages before the sleep change nothing that the other end sees; they only multiply loom's orders.
            return self.sleep_until(own, peer, fence, ready);
        }
        if self.policy == Wait::Spin {
            return self.spin_until(peer, ready);
        }
        let here = note_cpu(own);
        // Relaxed: a hint. A stale or false one costs some microseconds.
        if peer.cpu.load(Ordering::Relaxed) == here {
            if self.yields.allowed() && self.yield_until(&mut ready) {
                self.counters.yields += 1;
                return Ok(Waited::LookAgain);
            }
        } else if spin_for(SPIN_NS, &mut ready) {
            self.counters.spins += 1;
            return Ok(Waited::LookAgain);
        }
        self.sleep_until(own, peer, fence, ready)
    }

    fn yield_until(&mut self, ready: &mut impl FnMut() -> bool) -> bool {
        for _ in 0..YIELDS {
            let start_ns = now_ns();
            yield_now();
            let quick = self.yields.took(now_ns() - start_ns);
            if ready() {
                return true;
            }
            if !quick {
                break;
            }
        }
        false
    }

    fn spin_until(&mut self, peer: &End, mut ready: impl FnMut() -> bool) -> Result<Waited, Error> {
        if spin_for(WATCH_EVERY_NS, &mut ready) {
            self.counters.spins += 1;
            return Ok(Waited::LookAgain);
        }
        self.watch(peer)
    }

    fn sleep_until(
        &mut self,
        own: &End,
        peer: &End,
        fence: Fence,
        mut ready: impl FnMut() -> bool,
    ) -> Result<Waited, Error> {
        let start_ns = now_ns();
        // By the clock, not by the reason of the return: a peer that wakes us in vain cannot keep us from the watch.
        while now_ns() - start_ns < WATCH_EVERY_NS {
            let slept = eventcount::sleep(own, fence, WATCH_EVERY, &mut ready)?;
            self.counters.sleeps += u64::from(slept != Slept::Changed);
            if ready() {
                self.counters.rescues += u64::from(slept == Slept::TimedOut);
                note_cpu(own);
                return Ok(Waited::LookAgain);
            }
        }
        self.watch(peer)
    }

    fn watch(&mut self, peer: &End) -> Result<Waited, Error> {
        Ok(if self.peer.has_ended(peer)? { Waited::PeerEnded } else { Waited::LookAgain })
    }
}

/// Tells the other end where we run, if that has changed; returns it in the word's form.
pub(crate) fn note_cpu(own: &End) -> u32 {
    let here = current_cpu() + 1;
    // Relaxed: a hint, and only we write it. Not written without need, since the peer reads this line all the time.
    if own.cpu.load(Ordering::Relaxed) != here {
        own.cpu.store(here, Ordering::Relaxed);
    }
    here
}

fn spin_for(limit_ns: u64, ready: &mut impl FnMut() -> bool) -> bool {
    let start_ns = now_ns();
    loop {
        for _ in 0..SPINS_PER_CLOCK {
            if ready() {
                return true;
            }
            spin_loop();
        }
        if now_ns() - start_ns >= limit_ns {
            return false;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
