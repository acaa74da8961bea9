//! How a handle sleeps until the other end has done something, and how it is woken.
//!
//! A sleep goes in stages: spin or yield, then ten milliseconds on a futex in shared memory, which is woken soonest, then
//! on the doorbell without a time limit, which the kernel also ends when the other end dies. So an idle reader costs no
//! wake-up at all, and a dead peer is noticed by nobody's clock.
//!
//! The doorbell is also what poll and epoll see. Between `ARMED` and `RUNG` its state says whether a bell lies in the
//! socket: exactly one does while it is `RUNG`, and none while it is `ARMED`. Who sleeps or polls arms it and looks once
//! more (Dekker's pattern, with the heavy fence); who publishes looks at the other side's word, and rings if it says so.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_os::cpu;
use headwater_os::doorbell::{Answer, Doorbell, Heard};
use headwater_os::fence::Fence;
use headwater_os::futex::{self, Slept};
use headwater_shm::{Apart, Member, Stage, Stages, probe};

use crate::counters::Counters;
use crate::error::Result;
use crate::events::Place;
use crate::layout::{EndWords, Side};

/// Somebody sleeps on the side's own word.
pub(crate) const FUTEX: u32 = 1;
/// Somebody polls, or sleeps on the doorbell.
pub(crate) const BELL: u32 = 2;
/// A handle of this side was closed: the other end asks the kernel whether it was the last.
pub(crate) const LOOK: u32 = 4;
/// A queue below wants to be enabled when there is room; see `sched`.
pub(crate) const SERVICE: u32 = 8;

/// No bell lies in the socket. Also the state of a stream that nobody has polled yet.
const ARMED: u32 = 0;
/// One bell lies in the socket.
const RUNG: u32 = 1;
/// A bell is being rung.
const RINGING: u32 = 2;

/// How long a sleeper stays on the futex before it goes to the doorbell.
const FUTEX_NS: u64 = 10_000_000;
/// How long a sleeper believes that nothing has come, where more than two use the stream.
const WATCH_NS: u64 = 1_000_000_000;
/// How long a bell may be in the ringing before its ringer counts as dead.
const RINGING_NS: u64 = 1_000_000;

/// Where a handle of one end stands in one lane.
#[derive(Debug)]
pub(crate) struct Post<'a> {
    /// Our own side of the lane, on which we sleep.
    pub own: &'a Side,
    /// What the tracer calls it.
    pub place: Place,
    /// Our end, with its bell, and the other one.
    pub end: &'a EndWords,
    pub peer: &'a EndWords,
    pub doorbell: &'a Doorbell,
    pub fence: Fence,
    /// Whether to spin and yield first.
    pub stages: bool,
    pub members: &'a [Apart<Member>],
}

/// Why a sleep is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// What was waited for may have come.
    LookAgain,
    /// Every copy of the other end is gone.
    Gone,
    /// Nothing has come for long, and somebody who shares the stream may have died who was to tell us of something.
    Watched,
    /// The time is over.
    TimedOut,
    /// A signal handler ran.
    Interrupted,
}

/// What has come beside bells.
pub(crate) type Files = Vec<std::os::fd::OwnedFd>;

impl Post<'_> {
    /// Sleeps until `ready`, the end of the other end, a signal, or `until_ns`.
    #[cold]
    #[inline(never)]
    pub fn sleep(
        &self,
        stages: &mut Stages,
        counters: &mut Counters,
        files: &mut Files,
        until_ns: Option<u64>,
        mut ready: impl FnMut() -> bool,
    ) -> Result<Waited> {
        let here = self.note_cpu();
        let same_cpu = self.peer.cpu.load(Ordering::Relaxed) == here;
        if self.stages {
            match stages.pass(same_cpu, &mut ready) {
                Some(Stage::Spun) => {
                    counters.spins += 1;
                    return Ok(Waited::LookAgain);
                }
                Some(Stage::Yielded) => {
                    counters.yields += 1;
                    return Ok(Waited::LookAgain);
                }
                None => {}
            }
        }
        let waited = self.sleep_on_futex(counters, until_ns, &mut ready)?;
        let waited = match waited {
            None => self.sleep_on_doorbell(counters, files, until_ns, &mut ready)?,
            Some(waited) => waited,
        };
        self.note_cpu();
        Ok(waited)
    }

    /// None: nothing has happened for as long as one sleeps there.
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

    fn sleep_on_doorbell(
        &self,
        counters: &mut Counters,
        files: &mut Files,
        until_ns: Option<u64>,
        ready: &mut impl FnMut() -> bool,
    ) -> Result<Waited> {
        loop {
            if !self.arm(files, &mut *ready)? {
                return Ok(Waited::LookAgain);
            }
            let end_ns = until(until_ns, self.members);
            let left_ns = end_ns.map(|end| end.saturating_sub(now_ns()));
            counters.blocks += 1;
            self.place.block_begin(true);
            let heard = self.doorbell.wait(left_ns.map(Duration::from_nanos))?;
            self.place.block_end(true, heard == Heard::Rung);
            if ready() {
                return Ok(Waited::LookAgain);
            }
            match heard {
                Heard::Gone => return Ok(Waited::Gone),
                Heard::TimedOut if end_ns != until_ns => return Ok(Waited::Watched),
                Heard::TimedOut => return Ok(Waited::TimedOut),
                Heard::Interrupted => return Ok(Waited::Interrupted),
                // A bell for somebody else, or left by one who died while he answered it.
                Heard::Rung if self.end.bell.load(Ordering::Acquire) == ARMED => answer_one(self.doorbell, files)?,
                Heard::Rung => {}
            }
        }
    }

    /// Makes the other side ring when it has done something. Returns false if `ready` holds already.
    pub fn arm(&self, files: &mut Files, mut ready: impl FnMut() -> bool) -> Result<bool> {
        if self.is_armed() && !ready() {
            // No bell should lie there. One of a ringer whom we did not wait for may, and would look like news for ever.
            answer_one(self.doorbell, files)?;
            if self.is_armed() {
                return Ok(true);
            }
            // That was a new one.
            self.end.bell.store(ARMED, Ordering::Release);
        }
        let was_rung = self.take_bell();
        // Relaxed: as in `sleep_on_futex`.
        probe::at();
        self.own.sleep.fetch_or(BELL, Ordering::Relaxed);
        probe::at();
        self.fence.heavy()?;
        if ready() {
            if was_rung && self.end.bell.compare_exchange(ARMED, RUNG, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // It was rung again: one of two bells is too many.
                answer_one(self.doorbell, files)?;
            }
            return Ok(false);
        }
        if was_rung {
            answer_one(self.doorbell, files)?;
        }
        Ok(true)
    }

    fn is_armed(&self) -> bool {
        self.own.sleep.load(Ordering::Relaxed) & BELL != 0 && self.end.bell.load(Ordering::Acquire) == ARMED
    }

    /// Arms the bell; returns whether one lies in the socket.
    fn take_bell(&self) -> bool {
        let start_ns = now_ns();
        loop {
            let state = self.end.bell.load(Ordering::Acquire);
            if state == RINGING && now_ns() - start_ns < RINGING_NS {
                std::hint::spin_loop();
            } else if self.end.bell.compare_exchange(state, ARMED, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return state != ARMED;
            }
        }
    }

    /// Tells the other side where we run, if that has changed; returns it in the word's form.
    fn note_cpu(&self) -> u32 {
        let here = cpu::current() + 1;
        // Relaxed: a hint. Not written without need, since the peer reads this line all the time.
        if self.end.cpu.load(Ordering::Relaxed) != here {
            self.end.cpu.store(here, Ordering::Relaxed);
        }
        here
    }
}

/// Whether more than two handles are in use. If one of two dies the kernel tells the other, but one of three may die
/// between taking a message and waking the writer, and nobody is told.
pub(crate) fn is_shared(members: &[Apart<Member>]) -> bool {
    members.iter().filter(|member| member.0.is_taken()).count() > 2
}

/// When a sleep on the doorbell is to end that has the time limit `until_ns`.
pub(crate) fn until(until_ns: Option<u64>, members: &[Apart<Member>]) -> Option<u64> {
    let watch_ns = is_shared(members).then(|| now_ns() + WATCH_NS);
    until_ns.into_iter().chain(watch_ns).min()
}

/// Wakes all who sleep on a side. `bell` is that side's end's, `doorbell` our own, whose other end is theirs.
pub(crate) fn wake(side: &Side, place: Place, bell: &AtomicU32, doorbell: &Doorbell, counters: &mut Counters) {
    // Relaxed: the words that are waited for carry the data. One exchange makes one wake-up of one sleep.
    let slept = side.sleep.fetch_and(!(FUTEX | BELL), Ordering::Relaxed);
    probe::at();
    if slept & FUTEX != 0 {
        counters.wake_ups += 1;
        place.wake(false);
        // A failed wake is no loss: the sleeper looks again by itself.
        let _ = futex::wake(&side.sleep, u32::MAX);
    }
    if slept & BELL != 0 && bell.compare_exchange(ARMED, RINGING, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        counters.wake_ups += 1;
        counters.doorbells += 1;
        place.wake(true);
        place.ring();
        probe::at();
        doorbell.ring();
        probe::at();
        // AcqRel pairs with the exchanges of whoever arms it: the bell is there. If somebody has lost patience with us and
        // armed it meanwhile, he has answered the bell too, or will find it and see that it means nothing.
        let _ = bell.compare_exchange(RINGING, RUNG, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// A bell has left the socket: says so.
pub(crate) fn disarm(bell: &AtomicU32) {
    let _ = bell.compare_exchange(RUNG, ARMED, Ordering::AcqRel, Ordering::Relaxed);
}

/// Wakes all who sleep on a side's word, and leaves those who poll.
pub(crate) fn wake_on_futex(side: &Side, place: Place, counters: &mut Counters) {
    if side.sleep.load(Ordering::Relaxed) & FUTEX != 0 && side.sleep.fetch_and(!FUTEX, Ordering::Relaxed) & FUTEX != 0 {
        probe::at();
        counters.wake_ups += 1;
        place.wake(false);
        let _ = futex::wake(&side.sleep, u32::MAX);
    }
}

fn answer_one(doorbell: &Doorbell, files: &mut Files) -> Result<()> {
    loop {
        let answer = doorbell.answer()?;
        probe::at();
        match answer {
            Answer::File(file) => files.push(file),
            Answer::Bell | Answer::Nothing | Answer::Gone => return Ok(()),
        }
    }
}
