//! The stages of a wait before a sleep: spinning if the peer runs on another CPU, yielding if it runs on ours.
//!
//! A process that waits for another one passes through them first. The peer sees nothing of them, and they cost at most some
//! microseconds. The caller then sleeps on a futex or a descriptor.

use std::cell::Cell;

use crate::sync::{now_ns, spin_loop, yield_now};

/// The time limit of spinning. A longer spin gains nothing, because a wake-up across CPUs costs 5 to 50 us.
const SPIN_NS: u64 = 20_000;
/// The number of spins between two readings of the clock. The clock ends the spinning and not a count, because PAUSE takes 10 to 150
/// cycles.
const SPINS_PER_CLOCK: u32 = 16;
/// The largest number of yields. If the peer is runnable, a yield ends the wait. Two yields without success mean that it is not.
const YIELDS: u32 = 2;
/// How long a slice of a [`Look`] spins. The other side answers within it if it runs and has nothing else to do, and other tasks of the
/// thread wait no longer than for any task.
const SLICE_NS: u64 = 1_000;
/// The number of slices without success, of this look and of others of its thread, after which a look may be over.
const SLICES_IN_VAIN: u32 = (SPIN_NS / SLICE_NS) as u32;
/// The longest look: so long an idle stream keeps its thread awake beside busy ones.
const LOOK_NS_MAX: u64 = 1_000_000;
/// The longest quick yield. A slower yield gave the CPU to other processes, whose time slice is 1.4 to 4 ms. The peer alone needs
/// half a millisecond to fill or empty 64 KiB byte by byte.
const YIELD_NS_MAX: u64 = 1_000_000;
/// The number of waits that do not yield after a slow yield. It is four times as large after each further slow yield. 64 sleeps cost
/// less than the time slice that one slow yield loses.
const YIELDS_BARRED: std::ops::RangeInclusive<u32> = 64..=4096;
/// The number of waits that skip a stage after the stage had no success. It doubles with each further failure. So an occasional
/// message, for which every stage is too short, costs a 64th of a spin. A single late message among quick ones costs one sleep. Yields
/// without success cost more than their time: the scheduler prefers other processes to one that has yielded, also when that is woken
/// later.
const IN_VAIN_BARRED: std::ops::RangeInclusive<u32> = 1..=64;
/// The number of quick yields in a row after which only one in [`TIMED_OF`] is timed. Two readings of the clock cost a tenth of a
/// yield to the peer and back.
const QUICK_IN_ROW: u32 = 64;
const TIMED_OF: u32 = 8;

/// Decides whether a wait spins or yields, by the success of earlier waits.
///
/// A spin pays if the peer answers within it. On a CPU that other processes use too, a yield gives them a whole time slice
/// (milliseconds), while a sleeper that is woken gets the CPU back soon. So spins without success bar spinning for a while, and slow
/// yields bar yielding.
#[derive(Debug, Default)]
pub struct Stages {
    /// The number of further waits that must not yield.
    barred: u32,
    /// The number of waits that the last slow yield barred; 0 after a quick one.
    last_barred: u32,
    /// The number of yields since the last slow one.
    quick_in_row: u32,
    spinning: Earnings,
    yielding: Earnings,
}

/// The recent success of a stage.
#[derive(Debug, Default)]
struct Earnings {
    /// The number of further waits that skip the stage.
    barred: u32,
    /// The number of waits that the last failure barred; 0 after a success.
    last_barred: u32,
}

impl Earnings {
    /// Runs the stage, unless this wait must skip it. Returns whether the stage ended the wait.
    fn try_stage(&mut self, stage: impl FnOnce() -> bool) -> bool {
        self.allowed() && self.note(stage())
    }

    /// Whether this wait may have the stage.
    fn allowed(&mut self) -> bool {
        let allowed = self.barred == 0;
        self.barred = self.barred.saturating_sub(1);
        allowed
    }

    /// Notes whether the stage ended the wait, and returns that.
    fn note(&mut self, came: bool) -> bool {
        self.last_barred = match came {
            true => 0,
            false => (self.last_barred * 2).clamp(*IN_VAIN_BARRED.start(), *IN_VAIN_BARRED.end()),
        };
        self.barred = self.last_barred;
        came
    }
}

/// A wait that passes the stages in slices, between which its thread does other work.
#[derive(Debug, Default)]
pub struct Look {
    /// When it began. `None`: it has not.
    begun_ns: Option<u64>,
    /// The number of its last slice among those of its thread.
    slice: u64,
    /// The count of successful looks of its thread at that time, and how many slices have passed without another one.
    comes: u64,
    in_vain: u32,
}

/// What the looks of one thread know of each other.
#[derive(Debug, Default)]
pub struct Crowd {
    /// The number of slices of all looks.
    slices: Cell<u64>,
    /// The number of waits that were successful.
    comes: Cell<u64>,
}

/// How a slice of a [`Look`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slice {
    /// What is waited for is there.
    Came,
    /// It is not; the next slice may find it.
    Again,
    /// It is not, and the stages are over: the caller sleeps.
    Over,
}

/// The stage that ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Spinning.
    Spun,
    /// Yielding the CPU.
    Yielded,
}

impl Crowd {
    /// Returns the state of a thread that has not looked yet.
    pub const fn new() -> Crowd {
        Crowd { slices: Cell::new(0), comes: Cell::new(0) }
    }

    /// Notes a slice without success that is to be followed by another one.
    fn again(&self, look: &mut Look) -> Slice {
        look.slice = self.slices.get() + 1;
        self.slices.set(look.slice);
        let comes = self.comes.get();
        look.in_vain = if look.comes == comes { look.in_vain + 1 } else { 0 };
        look.comes = comes;
        Slice::Again
    }

    fn came(&self) -> Slice {
        self.comes.set(self.comes.get() + 1);
        Slice::Came
    }
}

impl Stages {
    /// Waits for `ready` through the stages. Returns the stage that ended the wait; `None` if none did.
    pub fn pass(&mut self, same_cpu: bool, mut ready: impl FnMut() -> bool) -> Option<Stage> {
        if same_cpu {
            let mut yielding = std::mem::take(&mut self.yielding);
            let came = self.allowed() && yielding.try_stage(|| self.yield_until(&mut ready));
            self.yielding = yielding;
            came.then_some(Stage::Yielded)
        } else {
            self.spinning.try_stage(|| spin_for(SPIN_NS, &mut ready)).then_some(Stage::Spun)
        }
    }

    /// Passes one slice of the stages, for a caller that has other work to do until the next one.
    ///
    /// A look lasts as long as a spin may. It lasts longer while other looks of its thread are successful: the thread is awake anyway,
    /// and the peer of a sleeper would have to wake it. What counts is slices, not time, so that a thread that is preempted gives up
    /// nothing. A look that is alone spins for 1 us in each slice.
    pub fn pass_slice(
        &mut self,
        look: &mut Look,
        crowd: &Crowd,
        same_cpu: bool,
        mut ready: impl FnMut() -> bool,
    ) -> Slice {
        let came = ready();
        let Some(begun_ns) = look.begun_ns else {
            if came {
                return crowd.came();
            }
            if !same_cpu && !self.spinning.allowed() {
                return Slice::Over;
            }
            let begun_ns = now_ns();
            *look = Look { begun_ns: Some(begun_ns), slice: look.slice, comes: crowd.comes.get(), in_vain: 0 };
            // On the CPU of the other side the other work goes first: the other side may be a part of it.
            return if same_cpu { crowd.again(look) } else { self.spin_slice(look, crowd, begun_ns, ready) };
        };
        if came {
            return self.end_look(look, crowd);
        }
        if same_cpu && look.comes == crowd.comes.get() {
            look.begun_ns = None;
            return if self.pass(true, ready).is_some() { crowd.came() } else { Slice::Over };
        }
        self.spin_slice(look, crowd, begun_ns, ready)
    }

    fn spin_slice(&mut self, look: &mut Look, crowd: &Crowd, begun_ns: u64, mut ready: impl FnMut() -> bool) -> Slice {
        let is_alone = crowd.slices.get() == look.slice;
        if is_alone && spin_for(SLICE_NS, &mut ready) {
            return self.end_look(look, crowd);
        }
        let lasts_ns = now_ns() - begun_ns;
        let is_over = look.in_vain >= SLICES_IN_VAIN && lasts_ns >= SPIN_NS || lasts_ns >= LOOK_NS_MAX;
        if !is_over {
            return crowd.again(look);
        }
        look.begun_ns = None;
        self.spinning.note(false);
        Slice::Over
    }

    fn end_look(&mut self, look: &mut Look, crowd: &Crowd) -> Slice {
        look.begun_ns = None;
        self.spinning.note(true);
        crowd.came()
    }

    /// Waits for `ready` where the CPU of the other side is not known, and each look is a system call: looks again and again for as long as
    /// spinning may take, and yields before each look. A yield takes a fraction of the look if the other side runs on another CPU, and
    /// lets it answer if it waits for this one.
    /// Waits for `ready` if the CPU of the peer is not known and each check is a system call. Checks repeatedly within the time limit
    /// of spinning, and yields before each check. If the peer runs on another CPU, the yield costs a fraction of the check. If it
    /// waits for this CPU, the yield lets it answer.
    pub fn pass_anywhere(&mut self, mut ready: impl FnMut() -> bool) -> Option<Stage> {
        let mut spinning = std::mem::take(&mut self.spinning);
        let came = self.allowed() && spinning.try_stage(|| self.look_for(SPIN_NS, &mut ready));
        self.spinning = spinning;
        came.then_some(Stage::Spun)
    }

    fn look_for(&mut self, limit_ns: u64, ready: &mut impl FnMut() -> bool) -> bool {
        let start_ns = now_ns();
        loop {
            let before_ns = now_ns();
            yield_now();
            let after_ns = now_ns();
            let is_quick = self.took(after_ns - before_ns);
            if ready() {
                return true;
            }
            if !is_quick || after_ns - start_ns >= limit_ns {
                return false;
            }
        }
    }

    fn yield_until(&mut self, ready: &mut impl FnMut() -> bool) -> bool {
        for _ in 0..YIELDS {
            let quick = if self.trusts() {
                yield_now();
                true
            } else {
                let start_ns = now_ns();
                yield_now();
                self.took(now_ns() - start_ns)
            };
            if ready() {
                return true;
            }
            if !quick {
                break;
            }
        }
        false
    }

    /// Returns whether this wait may yield.
    fn allowed(&mut self) -> bool {
        let allowed = self.barred == 0;
        self.barred = self.barred.saturating_sub(1);
        allowed
    }

    /// Returns whether the next yield needs no timing.
    fn trusts(&mut self) -> bool {
        self.quick_in_row = self.quick_in_row.wrapping_add(1);
        self.quick_in_row > QUICK_IN_ROW && !self.quick_in_row.is_multiple_of(TIMED_OF)
    }

    /// Records how long a yield took. Returns whether that was quick.
    fn took(&mut self, elapsed_ns: u64) -> bool {
        self.last_barred = match elapsed_ns {
            0..=YIELD_NS_MAX => 0,
            _ => (self.last_barred * 4).clamp(*YIELDS_BARRED.start(), *YIELDS_BARRED.end()),
        };
        self.barred = self.last_barred;
        if self.barred > 0 {
            self.quick_in_row = 0;
        }
        self.barred == 0
    }
}

/// Spins until `ready` returns true, for at most `limit_ns`. Returns whether it did.
pub fn spin_for(limit_ns: u64, ready: &mut impl FnMut() -> bool) -> bool {
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
