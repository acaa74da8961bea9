//! What a multiplexer's driver does with the streams that are linked below the upper one.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use headwater_shm::probe;

use super::Queue;
use crate::error::{Errno, Error, Result, corrupt, fixed};
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::message::link::MuxId;
use crate::plumb::driver::Driver;
use crate::process::beyond::{ENDED, LowerStream, LowerStreams, Offered};
use crate::sched::SERVICES_MAX;

/// All lower streams that this handle knows, and the one of an id, if this process can use it.
type Found<'s> = (&'s dyn LowerStreams, Option<Arc<dyn LowerStream>>);

impl<'s, 'm> Queue<'_, 's, 'm> {
    /// The streams that are linked below, whether or not this process can use them.
    #[doc = include_str!("../../../doc/multiplexers.md")]
    pub fn lowers(&self) -> Vec<MuxId> {
        let ids = self.run.region.fixed.device.links.iter().map(|link| link.id.load(Ordering::Acquire));
        ids.filter_map(MuxId::new).collect()
    }

    /// Whether this process can use a lower stream; false if others can. These have the service procedure of this write queue run
    /// within a second, so what is for that stream is left in the queue.
    ///
    /// # Errors
    /// `ENXIO` for an id of no lower stream; `EINVAL` but on a driver's write side.
    #[doc = include_str!("../../../doc/multiplexers.md")]
    pub fn has_lower(&mut self, lower: MuxId) -> Result<bool> {
        Ok(self.lower(lower)?.1.is_some())
    }

    /// Whether a message of that band can be sent down a lower stream. If not, this write queue is enabled when it can: by another
    /// process, if this one [cannot use](Queue::has_lower) it.
    ///
    /// # Errors
    /// `ENXIO` for an id of no lower stream; `EINVAL` but on a driver's write side; what the lower stream reports.
    #[doc = include_str!("../../../doc/multiplexers.md")]
    pub fn can_put_lower(&mut self, lower: MuxId, band: u8) -> Result<bool> {
        let (known, Some(link)) = self.lower(lower)? else { return Ok(false) };
        let limit = self.run.inner_limit();
        let can_put = link.can_put(limit, band);
        if self.run.note(can_put)? {
            return Ok(true);
        }
        match link.ask_for_room(limit, band) {
            Ok(true) => return Ok(true),
            // Another user is in the way there: the server finds the descriptor ready, and comes again.
            Err(error) if !error.is_held() => return Err(error),
            _ => {}
        }
        if link.note_wait_for_room() {
            known.wake_server();
        }
        Ok(false)
    }

    /// Sends a message down a lower stream, through the modules that are pushed there.
    ///
    /// # Errors
    /// `ENXIO` for an id of no lower stream that this process can use, or whose other end is gone; `EINVAL` but on a driver's write
    /// side; what the way reports, as [`Queue::put_next`].
    #[doc = include_str!("../../../doc/multiplexers.md")]
    pub fn put_lower(&mut self, lower: MuxId, message: Message<'m>) -> Result<()> {
        let (_, Some(link)) = self.lower(lower)? else {
            let why = format!("the lower stream {} is one of other processes", lower.number());
            return Err(Error::new(Errno::Nxio, why));
        };
        self.run.effects.used_lower = true;
        let put = link.put(self.run.inner_limit(), message);
        self.run.note(put)?;
        self.run.act();
        self.run.note_arrival()
    }

    /// Has what waits in lower streams offered to [`Driver::lower_put`](crate::Driver::lower_put) again, when the current run is over.
    #[doc = include_str!("../../../doc/multiplexers.md")]
    pub fn enable_lowers(&mut self) {
        self.run.effects.used_lower = true;
    }

    fn lower(&self, id: MuxId) -> Result<Found<'s>> {
        if !self.is_last() {
            return Err(fixed!(Inval, "only the write side of a driver sends down lower streams"));
        }
        let Some(known) = self.run.beyond.lowers else {
            if self.run.beyond.endpoint.is_none() {
                return Err(corrupt!("a run within a run sends down"));
            }
            return Err(Error::new(Errno::Nxio, format!("no stream is linked below as {}", id.number())));
        };
        Ok((known, known.find(self.run.region, id)?))
    }
}

impl Queue<'_, '_, '_> {
    /// Offers what has come up the lower streams to the driver. In the service procedure of the upper stream's read side.
    pub(crate) fn take_from_lowers(&mut self, driver: &dyn Driver) -> Result<()> {
        let Some(known) = self.run.beyond.lowers else {
            // A run from within one along direction 0, which does it when it is over.
            self.run.effects.used_lower = true;
            return Ok(());
        };
        let region = self.run.region;
        let mut done = Ok(());
        known.each(region, &mut |lower| {
            match self.take_from_lower(driver, lower) {
                Ok(true) => {}
                Ok(false) => known.wake_server(),
                Err(error) => {
                    done = Err(error);
                    return ControlFlow::Break(());
                }
            }
            if lower.end_wait_for_room_above() {
                // It can sleep at the lower stream again.
                known.wake_server();
            }
            ControlFlow::Continue(())
        });
        done
    }

    /// False if another user of the lower stream is in the way.
    fn take_from_lower(&mut self, driver: &dyn Driver, lower: &dyn LowerStream) -> Result<bool> {
        for _ in 0..SERVICES_MAX {
            // What waits in the lower stream is served without waiting for a lock.
            let offered = lower.offer_front(&mut |message| driver.lower_put(lower.id(), message, self));
            match offered {
                Ok(Offered::Taken) => {}
                Ok(Offered::Left) => return Ok(true),
                Ok(Offered::Failed(error)) if error.is_held() || error.is_fatal() => return Err(error),
                Ok(Offered::Failed(_)) => {}
                Err(error) if error.is_held() => return Ok(false),
                Ok(Offered::Nothing) | Err(_) => break,
            }
        }
        self.tell_of_end(driver, lower).map(|()| true)
    }

    fn tell_of_end(&mut self, driver: &dyn Driver, lower: &dyn LowerStream) -> Result<()> {
        let words = &self.run.region.fixed.device.links[lower.slot()];
        if words.flags.load(Ordering::Relaxed) & ENDED != 0 {
            return Ok(());
        }
        let end = lower.end_as_message().unwrap_or_else(|error| {
            let number = error.errno().number() as u8;
            (!error.is_held()).then(|| error_message(number))
        });
        let Some(message) = end else { return Ok(()) };
        let told = driver.lower_put(lower.id(), message, self);
        if told.as_ref().is_err_and(Error::is_held) {
            return told.map(drop);
        }
        probe::at();
        // Told first: after a kill in between it is told twice, but never lost. Under the lock of the service procedures.
        words.flags.fetch_or(ENDED, Ordering::AcqRel);
        told.map(drop)
    }
}

/// M_ERROR with an errno, for the driver.
pub(crate) fn error_message(number: u8) -> Message<'static> {
    Message::from_parts(MessageHeader::of(Kind::Error), None, Some(vec![number]))
}
