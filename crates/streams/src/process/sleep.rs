//! How a handle waits until the other end has done something, and how it is woken.
//!
//! A wait goes in stages: spin or yield, then ten milliseconds on a futex in shared memory, which is woken soonest, then
//! on the doorbell, where it costs nothing until something happens, and which the kernel also ends when the other end is
//! gone. This file has the first two, and the wake-ups; [`super::inbox`] has the rules of the doorbell.
//!
//! Each side of a lane has one word of flags. A waiter sets its flag and looks once more (Dekker's pattern, with the heavy
//! fence); whoever publishes looks at the other side's word afterwards. Readers and writers of an end have words of
//! their own, and are told by different signals: a packet in the doorbell, and room in its send buffer.

use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_os::cpu;
use headwater_os::fence::Fence;
use headwater_os::futex::{self, Slept};
use headwater_shm::{Stage, Stages, probe};

use crate::counters::Counters;
use crate::error::Result;
use crate::events::Place;
use crate::layout::{EndWords, Side};

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

/// How long a sleeper stays on the futex before it goes to the doorbell.
const FUTEX_NS: u64 = 10_000_000;

/// A handle of one end that waits on one side of a lane.
#[derive(Debug)]
pub(crate) struct Waiter<'a> {
    /// The side of the lane that it waits on.
    pub own: &'a Side,
    /// What the tracer calls it.
    pub place: Place,
    /// Its end, and the other one.
    pub end: &'a EndWords,
    pub peer: &'a EndWords,
    pub fence: Fence,
    /// Whether to spin and yield first.
    pub stages: bool,
}

/// Why a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// What was waited for may have come.
    LookAgain,
    /// Every copy of the other end is gone.
    Gone,
    /// Nothing has come for long, and a process that shares the stream may have died that was to tell of something.
    Watched,
    /// The time is over.
    TimedOut,
    /// A signal handler ran.
    Interrupted,
}

impl Waiter<'_> {
    /// Spins, yields, and sleeps on the futex until `ready`, a signal, or `until_ns`. None: nothing has happened for as long
    /// as a handle sleeps there.
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
        let waited = self.sleep_on_futex(counters, until_ns, &mut ready);
        note_cpu(self.end);
        waited
    }

    fn sleep_on_futex(
        &self,
        counters: &mut Counters,
        until_ns: Option<u64>,
        ready: &mut impl FnMut() -> bool,
    ) -> Result<Option<Waited>> {
        let end_ns = now_ns() + FUTEX_NS;
        loop {
            // Relaxed: ordered before the look by the heavy fence, which pairs with the light one after a publication.
            let word = self.own.sleep.fetch_or(FUTEX, Ordering::Relaxed) | FUTEX;
            probe::at();
            self.fence.heavy()?;
            if ready() {
                return Ok(Some(Waited::LookAgain));
            }
            let now_ns = now_ns();
            let Some(left_ns) = until_ns.unwrap_or(u64::MAX).min(end_ns).checked_sub(now_ns).filter(|left| *left > 0)
            else {
                return Ok(until_ns.is_some_and(|until| until <= now_ns).then_some(Waited::TimedOut));
            };
            counters.blocks += 1;
            self.place.block_begin(false);
            let slept = futex::wait(&self.own.sleep, word, Some(Duration::from_nanos(left_ns)))?;
            self.place.block_end(false, slept == Slept::Woken);
            if ready() {
                return Ok(Some(Waited::LookAgain));
            }
            if slept == Slept::Interrupted {
                return Ok(Some(Waited::Interrupted));
            }
        }
    }
}

/// Tells the other side where we run, if that has changed; returns it in the word's form.
pub(crate) fn note_cpu(end: &EndWords) -> u32 {
    let here = cpu::current() + 1;
    // Relaxed: a hint. Not written without need, since the peer reads this line all the time.
    if end.cpu.load(Ordering::Relaxed) != here {
        end.cpu.store(here, Ordering::Relaxed);
    }
    here
}

/// Wakes all who sleep on a side's word.
pub(crate) fn wake_on_futex(side: &Side, place: Place, counters: &mut Counters) {
    if side.sleep.load(Ordering::Relaxed) & FUTEX != 0 && side.sleep.fetch_and(!FUTEX, Ordering::Relaxed) & FUTEX != 0 {
        // One that is killed here leaves sleepers that look by themselves when they have slept for FUTEX_NS.
        probe::at();
        counters.wake_ups += 1;
        place.wake(false);
        let _ = futex::wake(&side.sleep, u32::MAX);
    }
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
