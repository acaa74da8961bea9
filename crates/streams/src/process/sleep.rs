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

/// How long a sleeper stays on the futex before it goes to the doorbell, unless earlier waits have changed that. There it does not
/// notice that the other end has ended: that late the end of a process is seen.
const FUTEX_NS: u64 = 200_000;
/// The same after [`STEADY`] waits in turn that ended on the futex. A sleep that ends within a tick makes the kernel program a timer,
/// which takes 2 us in a virtual machine.
const STEADY_NS: u64 = 10_000_000;
const STEADY: u8 = 8;
/// How long a reader that waits for more than a message stays there: it is not woken for less, and must look soon.
const LOOK_AGAIN_NS: u64 = 10_000_000;
/// A wait of at most this time may recur. So no process is on the futex, where a death is not noticed, for more than
/// twice as long.
const AGAIN_NS: u64 = 25_000_000;

/// How long the next sleeper stays on the futex after a wait of `waited_ns` that went beyond it: twice that, so that
/// messages at such a rate find it there, where they cost least. After one that was too long for that it goes to the
/// doorbell at once. The first such wait of a handle is that for the other end's process to start, and says nothing about a rate.
fn futex_ns_after(waited_ns: u64, is_first: bool) -> u64 {
    match waited_ns {
        _ if waited_ns > AGAIN_NS => 0,
        _ if is_first => FUTEX_NS,
        _ => FUTEX_NS.max(2 * waited_ns),
    }
}

/// The same after a wait of `waited_ns` that ended on the futex, as did `steady` waits before it: twice that, but not much less
/// than before, since a long wait may be followed by a longer one.
fn futex_ns_within(before_ns: u64, waited_ns: u64, steady: u8) -> u64 {
    let least_ns = if steady < STEADY { FUTEX_NS } else { STEADY_NS };
    least_ns.max(2 * waited_ns).max(before_ns - before_ns / 4).min(2 * AGAIN_NS)
}

/// How long a handle's next sleep on the futex lasts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnFutex {
    /// So long; 0: it goes to the doorbell at once.
    pub ns: u64,
    /// How many waits in turn have ended there, at most [`STEADY`].
    steady: u8,
    /// Whether a wait has gone beyond it.
    has_waited_long: bool,
}

impl OnFutex {
    pub const NEW: OnFutex = OnFutex { ns: FUTEX_NS, steady: 0, has_waited_long: false };

    /// After a wait of `waited_ns` that ended there.
    fn ended(&mut self, waited_ns: u64) {
        self.ns = futex_ns_within(self.ns, waited_ns, self.steady);
        self.steady = STEADY.min(self.steady + 1);
    }

    /// After a wait of `waited_ns` that went beyond it.
    pub fn went_beyond(&mut self, waited_ns: u64) {
        self.ns = futex_ns_after(waited_ns, !self.has_waited_long);
        (self.steady, self.has_waited_long) = (0, true);
    }
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
    /// Whether to sleep on the futex.
    pub on_futex: bool,
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
    /// long as the handle stays there, which is adapted.
    #[cold]
    #[inline(never)]
    pub fn wait_briefly(
        &self,
        stages: &mut Stages,
        stay: &mut OnFutex,
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
        let waited = if self.on_futex && stay.ns > 0 {
            self.sleep_on_futex(stay, counters, until_ns, &mut ready)
        } else {
            Ok(None)
        };
        note_cpu(self.end);
        waited
    }

    fn sleep_on_futex(
        &self,
        stay: &mut OnFutex,
        counters: &mut Counters,
        until_ns: Option<u64>,
        ready: &mut impl FnMut() -> bool,
    ) -> Result<Option<Waited>> {
        let begin_ns = now_ns();
        let mut now = begin_ns;
        let wants_all = self.own.wanted.load(Ordering::Relaxed) == 0;
        let end_ns = begin_ns + if wants_all { stay.ns } else { LOOK_AGAIN_NS };
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
            now = now_ns();
            if ready() {
                stay.ended(now - begin_ns);
                return Ok(Some(Waited::LookAgain));
            }
            if slept == Slept::Interrupted {
                return Ok(Some(Waited::Interrupted));
            }
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
