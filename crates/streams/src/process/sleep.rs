//! How a handle waits for the other end, and how it is woken.
//!
//! A wait goes in stages: spin or yield, then 10 to 50 ms on a futex in shared memory, which is woken soonest, then
//! on the doorbell, where it costs nothing until something happens, and which the kernel also ends when the other end is
//! gone. This file has the first two, and the wake-ups; [`super::inbox`] has the rules of the doorbell.
//!
//! Each side of a lane has one word of flags, whose rules are in [`crate::flags`]. Readers and writers of an end have words of
//! their own, and are notified by different signals: a packet in the doorbell, and room in its send buffer.

use std::sync::atomic::{self, Ordering};
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_os::cpu;
use headwater_os::fence::Fence;
use headwater_os::futex::{self, Slept};
use headwater_shm::{Stage, Stages, probe};

use crate::counters::Counters;
use crate::error::Result;
use crate::events::WaitSide;
pub(crate) use crate::flags::*;
use crate::layout::{EndWords, Side};

/// How long a sleeper stays on the futex before it goes to the doorbell, unless earlier waits have changed that.
pub(crate) const FUTEX_NS: u64 = 10_000_000;
/// A wait of at most this time may recur. So no process is on the futex, where a death is not noticed, for more than
/// twice as long.
const AGAIN_NS: u64 = 25_000_000;

/// How long the next sleeper stays on the futex after a wait of `waited_ns` that went beyond it: twice that, so that
/// messages at such a rate find it there, where they cost least. After one that was too long for that it goes to the
/// doorbell at once.
pub(crate) fn futex_ns_after(waited_ns: u64) -> u64 {
    if waited_ns <= AGAIN_NS { FUTEX_NS.max(2 * waited_ns) } else { 0 }
}

/// A handle of one end that waits on one side of a lane.
#[derive(Debug)]
pub(crate) struct Waiter<'a> {
    /// The side of the lane that it waits on.
    pub own: &'a Side,
    /// Its name for the tracer.
    pub wait_side: WaitSide,
    /// Its end, and the other one.
    pub end: &'a EndWords,
    pub peer: &'a EndWords,
    pub fence: Fence,
    /// Whether to spin and yield first.
    pub stages: bool,
    /// How long to sleep on the futex.
    pub futex_ns: u64,
}

/// Why a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The condition may hold.
    LookAgain,
    /// Every copy of the other end is gone.
    Gone,
    /// There was no event for long, and a process that shares the stream may have died before it notified.
    Watched,
    /// The time is over.
    TimedOut,
    /// A signal handler ran.
    Interrupted,
}

impl Waiter<'_> {
    /// Spins, yields, and sleeps on the futex until `ready`, a signal, or `until_ns`. None: there was no event for as
    /// long as a handle sleeps there.
    #[cold]
    #[inline(never)]
    pub fn wait_briefly(
        &self,
        stages: &mut Stages,
        counters: &mut Counters,
        until_ns: Option<u64>,
        mut ready: impl FnMut() -> bool,
    ) -> Result<Option<Waited>> {
        let here = note_cpu(self.end);
        let same_cpu = self.peer.cpu.load(Ordering::Relaxed) == here;
        if self.stages {
            match stages.pass(same_cpu, &mut ready) {
                Some(Stage::Spun) => {
                    counters.spins += 1;
                    return Ok(Some(Waited::LookAgain));
                }
                Some(Stage::Yielded) => {
                    counters.yields += 1;
                    return Ok(Some(Waited::LookAgain));
                }
                None => {}
            }
        }
        let waited = if self.futex_ns > 0 { self.sleep_on_futex(counters, until_ns, &mut ready) } else { Ok(None) };
        note_cpu(self.end);
        waited
    }

    fn sleep_on_futex(
        &self,
        counters: &mut Counters,
        until_ns: Option<u64>,
        ready: &mut impl FnMut() -> bool,
    ) -> Result<Option<Waited>> {
        let mut now = now_ns();
        // A reader that waits for more than a message is not woken for less, and must look soon.
        let wants_all = self.own.wanted.load(Ordering::Relaxed) == 0;
        let end_ns = now + if wants_all { self.futex_ns } else { self.futex_ns.min(FUTEX_NS) };
        loop {
            let word = announce(self.own, FUTEX, 0, self.fence)?;
            if ready() {
                return Ok(Some(Waited::LookAgain));
            }
            let Some(left_ns) = until_ns.unwrap_or(u64::MAX).min(end_ns).checked_sub(now).filter(|left| *left > 0)
            else {
                return Ok(until_ns.is_some_and(|until| until <= now).then_some(Waited::TimedOut));
            };
            counters.blocks += 1;
            self.wait_side.block_begin(false);
            let slept = futex::wait(&self.own.sleep, word, Some(Duration::from_nanos(left_ns)))?;
            self.wait_side.block_end(false, slept == Slept::Woken);
            if ready() {
                return Ok(Some(Waited::LookAgain));
            }
            if slept == Slept::Interrupted {
                return Ok(Some(Waited::Interrupted));
            }
            now = now_ns();
        }
    }
}

/// Publishes the CPU on which we run, if that has changed; returns it in the word's form.
pub(crate) fn note_cpu(end: &EndWords) -> u32 {
    let here = cpu::current() + 1;
    // Relaxed: a hint. Not written without need, since the peer reads this line all the time.
    if end.cpu.load(Ordering::Relaxed) != here {
        end.cpu.store(here, Ordering::Relaxed);
    }
    here
}

/// Wakes all sleepers on a side's word, if the flag is set. Returns how many there were: none of a process that was
/// killed, or has not fallen asleep yet.
pub(crate) fn wake_on_futex(side: &Side, wait_side: WaitSide, counters: &mut Counters) -> Option<usize> {
    // The event was stored before the look at the flags, also by callers that do not use `look_at`.
    atomic::fence(Ordering::SeqCst);
    if side.sleep.load(Ordering::Relaxed) & FUTEX != 0 && side.sleep.fetch_and(!FUTEX, Ordering::Relaxed) & FUTEX != 0 {
        // A process that is killed here leaves sleepers that look by themselves when they have slept long enough.
        probe::at();
        counters.wake_ups += 1;
        wait_side.wake(false);
        return futex::wake(&side.sleep, u32::MAX).ok();
    }
    None
}

#[cfg(test)]
mod tests;
