//! A step: what a driver changes in its own memory in a run along direction 1, and the message that tells the user of it. A process that is
//! killed in between leaves both or neither.
//!
//! The first change saves the first [`DriverInfo::steps`](crate::DriverInfo) bytes of the memory behind the others, and begins the step. It is
//! over with the message, or with the run. The next process that takes the direction's writer lock, after a death, puts the bytes back unless
//! the message has arrived. So a driver makes all changes before the message, and one message per step. The process may also have been killed before it
//! watched a file for what it waits for: all files are watched for everything then, and the driver takes back what it does not need.
//!
//! A module with a service procedure above may keep the message until the run is over. Then the step lasts until then.

use std::sync::atomic::Ordering;

use headwater_shm::{Window, probe};

use super::Run;
use crate::error::Result;
use crate::limits::STEP_MAX;
use crate::options::events::Events;
use crate::process::region::Region;
use crate::queue::store::StoreSide;

/// The direction along which a driver's changes are steps.
const DIRECTION: usize = 1;

/// All that a driver may watch its files for.
const ALL: u32 = Events::IN.union(Events::OUT).union(Events::PRI).bits() as u32;

impl Run<'_, '_> {
    /// Called before the driver changes its own memory at a place.
    #[inline]
    pub fn begin_step(&mut self, at: usize) -> Result<()> {
        let is_in_step = self.direction == DIRECTION && at < steps(self.region) && self.store.open_step() == 0;
        if is_in_step { self.save() } else { Ok(()) }
    }

    #[cold]
    fn save(&mut self) -> Result<()> {
        let Some((window, len)) = memory(self.region) else { return Ok(()) };
        copy(window, 0, window.len() - len as u64, len);
        let tail = self.lane.tail();
        self.side.store.begin_step(tail);
        Ok(())
    }

    /// Called after the driver has sent a message up: the step is over, unless the message is still under way.
    #[inline]
    pub fn note_step(&mut self) -> Result<()> {
        if self.direction == DIRECTION && self.store.open_step() != 0 { self.end_arrived_step() } else { Ok(()) }
    }

    #[cold]
    fn end_arrived_step(&mut self) -> Result<()> {
        probe::at();
        let tail = self.lane.tail();
        if self.side.store.has_step_arrived(tail)? {
            self.side.store.end_step();
        }
        Ok(())
    }

    /// The run is over: so is its step. What a failed one has changed is taken back.
    #[inline]
    pub(super) fn end_step<T>(&mut self, done: Result<T>) -> Result<T> {
        if self.direction != DIRECTION || self.store.open_step() == 0 {
            return done;
        }
        let tail = self.lane.tail();
        let ended = match done {
            Ok(_) => {
                self.side.store.end_step();
                Ok(())
            }
            Err(_) => undo(&mut self.side.store, tail, self.region),
        };
        done.and_then(|done| ended.map(|()| done))
    }
}

/// Ends the step that a dead process has left, and takes its changes back if nothing tells of them. Under the writer's lock, taken anew.
#[cold]
pub(crate) fn undo(store: &mut StoreSide<'_>, tail: u64, region: &Region) -> Result<()> {
    if !store.has_step_arrived(tail)?
        && let Some((window, len)) = memory(region)
    {
        copy(window, window.len() - len as u64, 0, len);
        probe::at();
    }
    for watched in &region.fixed.device.watched {
        watched.fetch_or(ALL, Ordering::SeqCst);
    }
    store.end_step();
    Ok(())
}

/// How many bytes of the driver's memory are changed in steps.
fn steps(region: &Region) -> usize {
    region.driver.map_or(0, |driver| driver.info().steps)
}

/// The driver's memory, and how many of its first bytes are changed in steps. None: there is none, or no room to save it.
fn memory(region: &Region) -> Option<(&Window, usize)> {
    let (window, len) = (region.instance.as_ref()?, steps(region));
    (len > 0 && len <= STEP_MAX && 2 * len as u64 <= window.len()).then_some((window, len))
}

fn copy(window: &Window, from: u64, to: u64, len: usize) {
    let mut bytes = [0; STEP_MAX];
    window.copy_out(from, &mut bytes[..len]);
    window.copy_in(to, &bytes[..len]);
}
