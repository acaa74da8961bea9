//! How an end waits for the other one: in stages from cheap and quick to slow and free.
//!
//! Used by both halves of the ring. It knows no index; the caller says what it waits for.

use std::time::Duration;

use headwater_os::futex::Slept;
use headwater_shm::sync::{Fence, Ordering, current_cpu, now_ns};
use headwater_shm::{Stage, Stages, spin_for};

use crate::error::Error;
use crate::layout::End;
use crate::owner;
use crate::parker;

/// What an end does while it cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Spins on the processor until it can. For measuring limits: the caller guarantees that the ends run on two CPUs,
    /// else each waits out the other's time slice.
    Spin,
    /// Spins for at most 20 us where the other end runs on another CPU, yields where it shares ours, then sleeps.
    Sleep,
}

/// Counts of an end's wake-ups and waits, in its own process since it was made.
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

/// How long a killed peer can go unnoticed by an end that sleeps or spins.
pub(crate) const WATCH_EVERY: Duration = Duration::from_millis(100);
const WATCH_EVERY_NS: u64 = WATCH_EVERY.as_nanos() as u64;

/// Why the wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// `ready` held, or 100 ms have passed: the caller retries the operation. So a sender above the low-water mark uses
    /// the available room after that time, although the receiver does not wake it.
    LookAgain,
    /// The process that holds the other end has ended.
    PeerEnded,
}

/// One end's policy, and its counters.
#[derive(Debug)]
pub(crate) struct Waiter {
    policy: Wait,
    stages: Stages,
    pub(crate) counters: Counters,
}

impl Waiter {
    pub(crate) fn new(policy: Wait) -> Waiter {
        Waiter { policy, stages: Stages::default(), counters: Counters::default() }
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
            return Ok(self.spin_until(peer, ready));
        }
        let here = note_cpu(own);
        // Relaxed: a hint. A stale or false one costs some microseconds.
        let same_cpu = peer.cpu.load(Ordering::Relaxed) == here;
        match self.stages.pass(same_cpu, &mut ready) {
            Some(Stage::Spun) => self.counters.spins += 1,
            Some(Stage::Yielded) => self.counters.yields += 1,
            None => return self.sleep_until(own, peer, fence, ready),
        }
        Ok(Waited::LookAgain)
    }

    fn spin_until(&mut self, peer: &End, mut ready: impl FnMut() -> bool) -> Waited {
        if spin_for(WATCH_EVERY_NS, &mut ready) {
            self.counters.spins += 1;
            return Waited::LookAgain;
        }
        watch(peer)
    }

    fn sleep_until(
        &mut self,
        own: &End,
        peer: &End,
        fence: Fence,
        mut ready: impl FnMut() -> bool,
    ) -> Result<Waited, Error> {
        let start_ns = now_ns();
        // By the clock, not by the reason of the return: a peer that wakes us without a reason cannot keep us from the watch.
        while now_ns() - start_ns < WATCH_EVERY_NS {
            let slept = parker::sleep(own, fence, WATCH_EVERY, &mut ready)?;
            self.counters.sleeps += u64::from(slept != Slept::Changed);
            if ready() {
                self.counters.rescues += u64::from(slept == Slept::TimedOut);
                note_cpu(own);
                return Ok(Waited::LookAgain);
            }
        }
        Ok(watch(peer))
    }
}

fn watch(peer: &End) -> Waited {
    if owner::has_ended(peer) { Waited::PeerEnded } else { Waited::LookAgain }
}

/// Publishes the CPU on which this end runs, if that has changed; returns it in the word's form.
pub(crate) fn note_cpu(own: &End) -> u32 {
    let here = current_cpu() + 1;
    // Relaxed: a hint, and only we write it. Not written without need, since the peer reads this line all the time.
    if own.cpu.load(Ordering::Relaxed) != here {
        own.cpu.store(here, Ordering::Relaxed);
    }
    here
}
