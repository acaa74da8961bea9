//! Whether a message of a driver's step has arrived: see `sched::step`, which alone uses this. All is done under the direction's writer
//! lock.
//!
//! A message has arrived in the lane when that has another position, and in a queue when that is noted before the store's lock is
//! released, or found in the queue after a death: as of a message between two queues ([`transfer`](super::transfer)).

use std::sync::atomic::{Ordering, fence};

use headwater_shm::probe;

use super::{Store, StoreSide};
use crate::error::Result;

impl Store {
    /// The number of the step that is not ended; 0: there is none. Read without the lock.
    #[inline]
    pub fn open_step(&self) -> u32 {
        self.words.step.load(Ordering::Relaxed)
    }

    /// Begins a step. `tail` is the lane's position. What the step can be undone by is there already.
    pub fn begin_step(&self, tail: u64) {
        // Never 0, which is no step.
        let number = self.words.steps.load(Ordering::Relaxed).wrapping_add(1).max(1);
        self.words.steps.store(number, Ordering::Relaxed);
        self.words.step_tail.store(tail, Ordering::Relaxed);
        probe::at();
        self.words.step.store(number, Ordering::Release);
        // Before the changes of the step: a process that finds one of them finds the number.
        fence(Ordering::Release);
        probe::at();
    }

    /// The step is over.
    pub fn end_step(&self) {
        self.words.step.store(0, Ordering::Release);
        probe::at();
    }
}

impl StoreSide<'_> {
    /// Whether a message of the open step has arrived. `tail` is the lane's position.
    pub fn has_step_arrived(&mut self, tail: u64) -> Result<bool> {
        let step = self.open_step();
        if tail != self.words.step_tail.load(Ordering::Relaxed) {
            return Ok(true);
        }
        // What a dead process has left is repaired, and a message of the step found, by the next that takes the lock.
        let is_held = self.held;
        self.lock()?;
        let has_arrived = self.words.step_arrived.load(Ordering::Relaxed) == step;
        if !is_held {
            self.unlock();
        }
        Ok(has_arrived)
    }
}
