//! A module's operations on its other queue, the one of the other direction: what OTHERQ, RD and WR are for.

use std::sync::atomic::Ordering;

use headwater_shm::probe;

use super::Queue;
use crate::error::{Error, Result, Text};
use crate::events;
use crate::plumb::chain;
use crate::process::sleep::SERVICE;
use crate::queue::store::HEAD;
use crate::sched::{Other, Run};

impl Queue<'_, '_, '_> {
    /// Whether a message of that band can be sent back by [`Queue::reply`], that is whether the queue after this module's or
    /// driver's other one takes it. If not, that other queue is enabled when it does, if it has a service procedure.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense; `EINVAL` if this process does not know a module of the way back.
    #[doc = include_str!("../../../doc/queue_other.md")]
    #[doc(alias = "canput")]
    pub fn can_reply(&mut self, band: u8) -> Result<bool> {
        if self.is_last() {
            return self.run.back(|run| run.can_put_from(1, band));
        }
        self.run.can_put_back_from(self.at, band)
    }

    /// Messages in this module's other queue, and bytes of one of its bands. Other processes may be changing them.
    #[doc = include_str!("../../../doc/queue_other.md")]
    #[doc(alias = "qsize")]
    pub fn size_of_other(&mut self, band: u8) -> (usize, usize) {
        let queue = self.run.chain[self.at].queue;
        self.run.other.store().size(queue, band)
    }

    /// The water marks of this module's other queue, bytes.
    #[doc = include_str!("../../../doc/queue_other.md")]
    #[doc(alias = "strqget")]
    pub fn water_marks_of_other(&mut self) -> (u32, u32) {
        let queue = self.run.chain[self.at].queue;
        self.run.other.store().water_marks(queue).as_set()
    }

    /// Changes the water marks of this module's other queue.
    ///
    /// # Errors
    /// `EINVAL` for a low mark above the high one.
    #[doc = include_str!("../../../doc/queue_other.md")]
    #[doc(alias = "strqset")]
    pub fn set_water_marks_of_other(&mut self, hiwat: u32, lowat: u32) -> Result<()> {
        if lowat > hiwat {
            return Err(Error::numbered(Text::LowatAboveHiwat, lowat.into(), hiwat.into()));
        }
        let queue = self.run.chain[self.at].queue;
        self.run.other.store().set_marks(queue, hiwat, lowat);
        self.run.act();
        Ok(())
    }

    /// Whether the next queue is one of the same side (SAMESTR): false for a pipe's last module before the middle, where the write
    /// side becomes the other end's read side, and where no module or driver follows.
    #[doc = include_str!("../../../doc/queue_other.md")]
    #[doc(alias = "SAMESTR")]
    pub fn is_followed_by_same_side(&self) -> bool {
        let chain = &self.run.chain;
        chain.get(self.at + 1).is_some_and(|next| next.side == chain[self.at].side)
    }
}

impl Run<'_, '_> {
    /// As [`Run::back_enable`], in the other direction: room has been made in the other queue of the module at that place.
    pub(super) fn back_enable_other(&mut self, at: usize) -> Result<()> {
        let (own, direction) = (self.chain[at], 1 - self.direction);
        let (mut is_before, mut service) = (true, None);
        chain::resolve(self.region, direction, |link| {
            is_before &= (link.end, link.slot) != (own.end, own.slot);
            if is_before && link.service {
                service = Some(link.queue);
            }
            Ok(())
        })?;
        self.counters.back_enables += 1;
        events::back_enable(self.region.inode, direction as u8, at as u8);
        match service {
            Some(queue) => {
                self.other.store().enable(queue);
                self.effects.enabled_other = true;
            }
            None => self.effects.room_other = true,
        }
        Ok(())
    }

    /// As [`Run::can_put_from`], along the other direction, from the place after the module's. The chain does not change
    /// meanwhile: that takes this direction's lock too.
    fn can_put_back_from(&mut self, at: usize, band: u8) -> Result<bool> {
        let (own, direction) = (self.chain[at], 1 - self.direction);
        let (mut is_behind, mut next) = (false, None);
        chain::resolve(self.region, direction, |link| {
            if is_behind && next.is_none() && link.service {
                next = Some(link.queue);
            }
            is_behind |= (link.end, link.slot) == (own.end, own.slot);
            Ok(())
        })?;
        let queue = next.unwrap_or(HEAD);
        if queue != HEAD || band > 0 || !self.region.policy.lane {
            return self.with_other_store(|store| Ok(store.can_put(queue, band)));
        }
        let Other::Direction(other) = &self.other else { return Ok(true) };
        if other.writer.may_go_on() {
            return Ok(true);
        }
        // As in `can_put_from`: the reader that makes room runs the services there.
        self.region.fixed.lanes[direction].writer.0.sleep.fetch_or(SERVICE, Ordering::Relaxed);
        probe::at();
        self.region.fence.heavy()?;
        Ok(other.writer.may_go_on())
    }
}
