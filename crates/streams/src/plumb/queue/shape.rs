//! A module's operations on the messages that wait in its queue, and on the queue's settings.

use std::sync::atomic::Ordering;

use super::Queue;
use crate::error::{Errno, Error, Result, Text};
use crate::message::Message;
use crate::message::kind::MessageHeader;
use crate::process::sleep::{OWED, SERVICE};

impl<'m> Queue<'_, '_, 'm> {
    /// The headers of the queue's messages, in their order.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense.
    #[doc = include_str!("../../../doc/queue_shape.md")]
    #[doc(alias = "q_first")]
    pub fn messages(&mut self) -> Result<Vec<MessageHeader>> {
        let queue = self.run.settled_queue(self.at)?;
        self.run.with_store(|store| store.list(queue))
    }

    /// Takes the message at a place of the queue, as [`Queue::get`] does with the first (rmvq). If the process dies before it
    /// has passed it on, the message stands first in the queue.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense.
    #[doc(alias = "rmvq")]
    #[doc = include_str!("../../../doc/queue_shape.md")]
    pub fn remove(&mut self, place: usize) -> Result<Option<Message<'m>>> {
        self.run.settled_queue(self.at)?;
        self.run.remove(self.at, place)
    }

    /// Puts a message at a place of the queue, before the one that stands there (insq), and enables the queue as
    /// [`Queue::put_queue`] does.
    ///
    /// # Errors
    /// `EINVAL` for a place that the message's priority or band does not allow, or that is behind the end; `ENOSR` without
    /// memory.
    #[doc(alias = "insq")]
    #[doc = include_str!("../../../doc/queue_shape.md")]
    pub fn insert(&mut self, place: usize, message: &Message<'_>) -> Result<()> {
        let queue = self.run.settled_queue(self.at)?;
        let fits = self.run.with_store(|store| store.may_stand(queue, message.header, place))?;
        if !fits {
            let why =
                format!("a message of band {} does not belong to place {place} of its queue", message.header.band);
            return Err(Error::new(Errno::Inval, why));
        }
        self.run.store_message(queue, message, |store, queue, message| store.put_at(queue, message, place))?;
        self.run.store.enable_for(queue, message.header);
        Ok(())
    }

    /// Whether this queue itself takes a message of that band (canput, bcanput); without a service procedure, whether the next
    /// one that has one does.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense.
    #[doc(alias = "canput")]
    #[doc(alias = "bcanput")]
    #[doc = include_str!("../../../doc/queue_shape.md")]
    pub fn can_put(&mut self, band: u8) -> Result<bool> {
        let queue = self.run.settled_queue(self.at)?;
        if self.run.chain[self.at].service {
            return self.run.with_store(|store| Ok(store.can_put(queue, band)));
        }
        self.run.can_put_from(self.at, band)
    }

    /// Ordinary messages that are queued from now on do not enable the queue (noenable); those of high priority and
    /// [`Queue::enable`] do, and room behind it.
    #[doc(alias = "noenable")]
    #[doc = include_str!("../../../doc/queue_shape.md")]
    pub fn set_passive(&mut self) {
        self.run.store.set_disabled(self.run.chain[self.at].queue, true);
        self.run.act();
    }

    /// Messages that are queued enable the queue again (enableok).
    #[doc(alias = "enableok")]
    #[doc = include_str!("../../../doc/queue_shape.md")]
    pub fn set_active(&mut self) {
        self.run.store.set_disabled(self.run.chain[self.at].queue, false);
        self.run.act();
    }

    /// The queue's high and low water mark, bytes (strqget of QHIWAT and QLOWAT).
    #[doc(alias = "strqget")]
    #[doc = include_str!("../../../doc/queue_shape.md")]
    pub fn water_marks(&self) -> (u32, u32) {
        self.run.store.water_marks(self.run.chain[self.at].queue).as_set()
    }

    /// Changes the queue's water marks (strqset of QHIWAT and QLOWAT).
    ///
    /// # Errors
    /// `EINVAL` for a low mark above the high one.
    #[doc(alias = "strqset")]
    #[doc = include_str!("../../../doc/queue_shape.md")]
    pub fn set_water_marks(&mut self, hiwat: u32, lowat: u32) -> Result<()> {
        if lowat > hiwat {
            return Err(Error::numbered(Text::LowatAboveHiwat, lowat.into(), hiwat.into()));
        }
        self.run.store.set_marks(self.run.chain[self.at].queue, hiwat, lowat);
        self.run.act();
        Ok(())
    }

    /// The shortest and the longest data part that a stream head sends to the queue, bytes; a longest of 0: as the head has it
    /// (strqget of QMINPSZ and QMAXPSZ).
    #[doc(alias = "strqget")]
    #[doc = include_str!("../../../doc/queue_shape.md")]
    pub fn packet_sizes(&self) -> (u32, u32) {
        self.run.store.packet_sizes(self.run.chain[self.at].queue).into()
    }

    /// Changes them (strqset of QMINPSZ and QMAXPSZ): for writes from now on, if the queue is the first one below a stream head.
    ///
    /// # Errors
    /// `EINVAL` for a shortest above the longest.
    #[doc(alias = "strqset")]
    #[doc = include_str!("../../../doc/queue_shape.md")]
    pub fn set_packet_sizes(&mut self, minpsz: u32, maxpsz: u32) -> Result<()> {
        if maxpsz != 0 && minpsz > maxpsz {
            return Err(Error::numbered(Text::MinpszAboveMaxpsz, minpsz.into(), maxpsz.into()));
        }
        self.run.store.set_packet_sizes(self.run.chain[self.at].queue, [minpsz, maxpsz]);
        self.run.close_quick_ways();
        self.run.act();
        Ok(())
    }

    /// Whether the stream has memory for one more message of any length, and for what is kept (testb).
    #[doc(alias = "testb")]
    #[doc = include_str!("../../../doc/queue_shape.md")]
    pub fn has_memory(&self) -> bool {
        self.run.store.may_allocate()
    }

    /// Has the queue enabled when there is memory for messages again: what bufcall is for, whose callback is nearly always
    /// qenable. Code cannot be called back here, since another process may run it.
    #[doc(alias = "bufcall")]
    #[doc = include_str!("../../../doc/queue_later.md")]
    pub fn enable_for_memory(&mut self) {
        self.run.store.set_wants_memory(self.run.chain[self.at].queue, true);
        self.run.act();
    }

    /// Takes back what [`Queue::enable_for_memory`] asked for.
    #[doc(alias = "unbufcall")]
    #[doc = include_str!("../../../doc/queue_later.md")]
    pub fn forget_memory(&mut self) {
        self.run.store.set_wants_memory(self.run.chain[self.at].queue, false);
        self.run.act();
    }

    /// Queues a message in this module's other queue (putq of OTHERQ), whose service procedure runs when the current run is
    /// over. [`Queue::reply`] is for the put procedure of the queue behind that.
    ///
    /// # Errors
    /// `ENOSR` without memory; `ERANGE` for a message longer than the stream allows.
    #[doc(alias = "OTHERQ")]
    #[doc = include_str!("../../../doc/queue_later.md")]
    pub fn put_other_queue(&mut self, message: &Message<'_>) -> Result<()> {
        self.run.put_other_queue(self.at, message)
    }
}

impl<'m> crate::sched::Run<'_, 'm> {
    /// The number of the queue at a place of the chain, all of whose messages are in the store.
    fn settled_queue(&mut self, at: usize) -> Result<usize> {
        self.store_pending_of(self.chain[at].queue)?;
        Ok(self.chain[at].queue)
    }

    fn put_other_queue(&mut self, at: usize, message: &Message<'_>) -> Result<()> {
        let queue = self.chain[at].queue;
        self.check_length(message)?;
        let stored = self.with_other_store(|store| store.put(queue, message))?;
        if !stored {
            return Err(crate::error::fixed!(Nosr, "the stream has no memory left for a message"));
        }
        self.act();
        self.other.store().enable_for(queue, message.header);
        // The process that leaves the direction next runs it: this one, after this run.
        let other = &self.region.fixed.lanes[1 - self.direction].writer.0;
        other.sleep.fetch_or(SERVICE | OWED, Ordering::Relaxed);
        Ok(())
    }
}
