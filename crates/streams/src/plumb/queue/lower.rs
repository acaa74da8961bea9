//! What a multiplexer's driver does with the streams that are linked below the upper one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Queue;
use crate::error::{Errno, Error, Result, corrupt, fixed};
use crate::message::Message;
use crate::message::link::MuxId;
use crate::open::link::{FOR_ROOM, KnownLinks, Link};

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
        let can_put = link.run(limit, |run| run.can_put_from(0, band));
        if self.run.note(can_put)? {
            return Ok(true);
        }
        let goes_on = link.with(limit, |lower| {
            lower.end.look_for_peer()?;
            // Behind a hang-up nothing makes room: the message is refused.
            Ok(lower.end.peer_gone || !lower.arm_to_write(band)?)
        });
        match goes_on {
            Ok(true) => return Ok(true),
            // Another user is in the way there: the server finds the descriptor ready, and comes again.
            Err(error) if !error.is_held() => return Err(error),
            _ => {}
        }
        if link.waits.fetch_or(FOR_ROOM, Ordering::AcqRel) & FOR_ROOM == 0 {
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
        let limit = self.run.inner_limit();
        let put = link.with(limit, |lower| {
            lower.end.look_for_peer()?;
            if lower.end.peer_gone {
                return Err(Error::new(Errno::Nxio, "the other end of the lower stream is gone"));
            }
            lower.run_inside(true, limit, |run| run.put(0, message))
        });
        self.run.note(put)?;
        self.run.act();
        self.run.note_arrival()
    }

    /// Has what waits in lower streams offered to [`Driver::lower_put`](crate::Driver::lower_put) again, when the current run is over.
    #[doc = include_str!("../../../doc/multiplexers.md")]
    pub fn enable_lowers(&mut self) {
        self.run.effects.used_lower = true;
    }

    fn lower(&self, id: MuxId) -> Result<(&'s KnownLinks, Option<Arc<Link>>)> {
        if !self.is_last() {
            return Err(fixed!(Inval, "only the write side of a driver sends down lower streams"));
        }
        let known = self.run.beyond.links.ok_or_else(|| corrupt!("a run within a run sends down"))?;
        Ok((known, known.find(self.run.region, id)?))
    }
}
