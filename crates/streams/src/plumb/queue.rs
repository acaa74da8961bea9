//! A module's operations on its queue: the calls of the DDI/DKI, under names spelled out.

use std::sync::atomic::Ordering;

use super::module::Side;
use crate::error::{Result, fixed};
use crate::layout::STATE_WORDS;
use crate::message::Message;
use crate::message::kind::Flush;
use crate::queue::store::Which;
use crate::sched::{Reply, Run};

mod files;
mod instance;
pub(crate) mod ioctl;
mod local;
pub(crate) mod lower;
mod other;
pub(crate) mod peers;
mod shape;
mod time;

pub use local::QueueRef;

/// One of a module's two queues, for as long as one of its procedures runs.
#[derive(Debug)]
pub struct Queue<'q, 's, 'm> {
    pub(crate) run: &'q mut Run<'s, 'm>,
    pub(crate) at: usize,
}

impl<'m> Queue<'_, '_, 'm> {
    /// Which of the two it is.
    #[doc = include_str!("../../doc/queue_put.md")]
    #[doc(alias = "OTHERQ")]
    pub fn side(&self) -> Side {
        self.run.chain[self.at].side
    }

    /// Passes a message on to the next queue.
    ///
    /// # Errors
    /// What the rest of the way reports: `ERANGE` for a message longer than the stream allows, `ENOSR` without memory; `EINVAL`
    /// from a driver's write side, behind which is nothing.
    #[doc(alias = "putnext")]
    #[inline]
    #[doc = include_str!("../../doc/queue_put.md")]
    pub fn put_next(&mut self, message: Message<'m>) -> Result<()> {
        if self.is_last() {
            return Err(fixed!(Inval, "behind the write side of a driver there is no queue"));
        }
        self.run.put(self.at + 1, message)?;
        // The driver's place along direction 1 is the first.
        if self.at == 0 { self.run.note_step() } else { Ok(()) }
    }

    /// Sends a message back, from this module's other queue on. A module's goes when the current run is over, a driver's at
    /// once.
    ///
    /// # Errors
    /// Of a driver's what the way back reports, as [`Queue::put_next`].
    #[doc(alias = "qreply")]
    #[doc = include_str!("../../doc/queue_put.md")]
    pub fn reply(&mut self, message: Message<'_>) -> Result<()> {
        if self.is_last() {
            return self.run.back(|run| {
                run.put(1, message)?;
                run.note_step()
            });
        }
        let link = &self.run.chain[self.at];
        let from = Some((link.end, link.slot));
        self.run.effects.replies.push(Reply { from, message: message.into_owned() });
        self.run.act();
        Ok(())
    }

    /// Queues a message, by priority, band and age, and enables the queue.
    ///
    /// # Errors
    /// `ENOSR` without memory.
    #[doc(alias = "putq")]
    #[doc = include_str!("../../doc/queue_service.md")]
    pub fn put_queue(&mut self, message: Message<'m>) -> Result<()> {
        self.run.put_queue(self.at, message)
    }

    /// Puts a message back to where [`Queue::get`] took it from.
    ///
    /// # Errors
    /// `ENOSR` without memory.
    #[doc(alias = "putbq")]
    #[doc = include_str!("../../doc/queue_service.md")]
    pub fn put_back(&mut self, message: &Message<'_>) -> Result<()> {
        self.run.put_back(self.at, message)
    }

    /// Takes the first message. A waiter for room in the queue is enabled at the low-water mark.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense.
    #[doc(alias = "getq")]
    #[doc = include_str!("../../doc/queue_service.md")]
    pub fn get(&mut self) -> Result<Option<Message<'m>>> {
        self.run.get(self.at)
    }

    /// Whether the next queue takes a message of that band. If not, this queue is enabled when it does.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense.
    #[doc(alias = "bcanputnext")]
    #[doc = include_str!("../../doc/queue_service.md")]
    pub fn can_put_next(&mut self, band: u8) -> Result<bool> {
        self.run.can_put_from(self.at + 1, band)
    }

    /// Whether this module's other queue is not above its high-water mark in that band.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense.
    #[doc = include_str!("../../doc/queue_later.md")]
    #[doc(alias = "OTHERQ")]
    #[doc(alias = "canput")]
    pub fn can_put_other(&mut self, band: u8) -> Result<bool> {
        let queue = self.run.chain[self.at].queue;
        self.run.with_other_store(|store| Ok(store.can_put(queue, band)))
    }

    /// Passes on messages as long as the next queue takes them: the usual service procedure.
    ///
    /// # Errors
    /// Those of the calls above.
    #[doc = include_str!("../../doc/queue_service.md")]
    #[doc(alias = "putq")]
    pub fn forward_all(&mut self) -> Result<()> {
        while let Some(message) = self.get()? {
            if !message.header.kind.is_high_priority() && !self.can_put_next(message.header.band)? {
                return self.put_back(&message);
            }
            self.put_next(message)?;
        }
        Ok(())
    }

    /// Asks for the service procedure to be run.
    #[doc(alias = "qenable")]
    #[doc = include_str!("../../doc/queue_service.md")]
    pub fn enable(&mut self) {
        self.run.store.enable(self.run.chain[self.at].queue);
    }

    /// Asks for the service procedure of this module's other queue to be run, when the current run is over.
    #[doc = include_str!("../../doc/queue_later.md")]
    #[doc(alias = "qenable")]
    pub fn enable_other(&mut self) {
        let queue = self.run.chain[self.at].queue;
        self.run.other.store().enable(queue);
        self.run.effects.enabled_other = true;
    }

    /// Does what an M_FLUSH asks of this module's two queues. The message is then passed on.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense.
    #[doc(alias = "flushq")]
    #[doc = include_str!("../../doc/queue_flush.md")]
    pub fn flush_as(&mut self, message: &Message<'_>) -> Result<()> {
        let Flush { read, write, band } = Flush::of(message);
        let which = band.map_or(Which::All, Which::Band);
        let queue = self.run.chain[self.at].queue;
        let (own, other) = if self.side() == Side::Read { (read, write) } else { (write, read) };
        if own && self.run.with_store(|store| store.flush(queue, which))? {
            self.run.back_enable(self.at);
        }
        if other && self.run.with_other_store(|store| store.flush(queue, which))? {
            self.run.back_enable_other(self.at)?;
        }
        Ok(())
    }

    /// Does what an M_FLUSH asks of a driver: discards the messages in its queues, and sends the message back to have
    /// the read side of what is above it flushed.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense.
    #[doc = include_str!("../../doc/driver.md")]
    #[doc(alias = "flushq")]
    pub fn flush_as_driver(&mut self, mut message: Message<'_>) -> Result<()> {
        self.flush_as(&message)?;
        let flush = Flush::of(&message);
        if !flush.read {
            return Ok(());
        }
        *message.data_mut() = Flush { write: false, ..flush }.bytes().to_vec();
        self.reply(message)
    }

    /// Messages in the queue, and bytes of one of its bands.
    #[doc(alias = "qsize")]
    #[doc = include_str!("../../doc/queue_service.md")]
    pub fn size(&self, band: u8) -> (usize, usize) {
        self.run.store.size(self.run.chain[self.at].queue, band)
    }

    /// The module's state, shared by all processes; zeros when it is pushed. Other processes may change it between
    /// two runs.
    #[doc = include_str!("../../doc/queue_state.md")]
    #[doc(alias = "q_ptr")]
    pub fn state(&self) -> [u64; STATE_WORDS] {
        let link = &self.run.chain[self.at];
        let words = &link.words(&self.run.region.fixed).state;
        std::array::from_fn(|at| words[at].load(Ordering::Relaxed))
    }

    /// Changes the module's state.
    #[doc = include_str!("../../doc/queue_state.md")]
    #[doc(alias = "q_ptr")]
    pub fn set_state(&mut self, state: [u64; STATE_WORDS]) {
        let link = &self.run.chain[self.at];
        let words = &link.words(&self.run.region.fixed).state;
        for (word, value) in words.iter().zip(state) {
            word.store(value, Ordering::Relaxed);
        }
        self.run.act();
    }

    /// Changes one word of the module's state. The other side's procedures may change other words at the same time. A word that
    /// there is not is not changed.
    #[doc = include_str!("../../doc/queue_state.md")]
    #[doc(alias = "q_ptr")]
    pub fn set_state_word(&mut self, at: usize, value: u64) {
        let link = &self.run.chain[self.at];
        if let Some(word) = link.words(&self.run.region.fixed).state.get(at) {
            word.store(value, Ordering::Relaxed);
        }
        self.run.act();
    }

    /// Of a driver that [pairs](super::driver::DriverInfo::pairs) streams: whether the partner is open and reached.
    #[doc = include_str!("../../doc/partners.md")]
    pub fn has_partner(&self) -> bool {
        self.run.beyond.partner.is_some()
    }

    /// Whether a message of that band can be sent to the partner's head: false also as long as there is no partner. If not, the
    /// partner's read queue is enabled when it can, if it has a service procedure; and this write queue when the partner has
    /// come.
    ///
    /// # Errors
    /// `EINVAL` but on a driver's write side; `EPROTO` if the shared memory makes no sense.
    #[doc = include_str!("../../doc/partners.md")]
    pub fn can_put_partner(&mut self, band: u8) -> Result<bool> {
        self.check_last()?;
        self.run.can_put_partner(band)
    }

    /// Sends a message to the partner, from the driver's read queue there on.
    ///
    /// # Errors
    /// `ENXIO` without a partner; `EPIPE` if it is gone; `EINVAL` but on a driver's write side; what the way reports, as
    /// [`Queue::put_next`].
    #[doc = include_str!("../../doc/partners.md")]
    pub fn put_partner(&mut self, message: Message<'m>) -> Result<()> {
        self.check_last()?;
        self.run.put_partner(message)
    }

    /// Asks for the service procedure of the partner's write queue to be run, when the current run is over: there is room here.
    #[doc = include_str!("../../doc/partners.md")]
    pub fn enable_partner(&mut self) {
        self.run.effects.enabled_partner = true;
    }

    /// The service procedure of a driver that passes on what its user writes. On the write side it sends the partner what waits, as
    /// long as there is room; on the read side, where there is room above, it lets the partner continue. Returns whether nothing waits any
    /// more.
    ///
    /// # Errors
    /// As [`Queue::put_partner`].
    #[doc = include_str!("../../doc/partners.md")]
    pub fn serve_partner(&mut self) -> Result<bool> {
        if self.side() == Side::Read {
            self.enable_partner();
            return Ok(false);
        }
        while let Some(message) = self.get()? {
            let goes = if message.header.kind.is_high_priority() {
                self.has_partner()
            } else {
                self.can_put_partner(message.header.band)?
            };
            if !goes {
                return self.put_back(&message).map(|()| false);
            }
            self.put_partner(message)?;
        }
        Ok(true)
    }

    fn check_last(&self) -> Result<()> {
        if self.is_last() { Ok(()) } else { Err(fixed!(Inval, "only the write side of a driver sends to its partner")) }
    }

    /// The minor number of the device that the stream was opened as; None where no driver is.
    #[doc = include_str!("../../doc/driver.md")]
    #[doc(alias = "getminor")]
    pub fn minor(&self) -> Option<u32> {
        self.run.region.driver.map(|_| self.run.region.fixed.device.minor.load(Ordering::Relaxed))
    }

    /// In a driver's close procedure: whether this is an empty stream in the place of one whose last process was killed, and whose
    /// queues, state and memory are gone with it. The minor number is that of the other.
    #[doc = include_str!("../../doc/driver.md")]
    pub fn is_stand_in(&self) -> bool {
        self.run.region.fixed.device.is_stand_in.load(Ordering::Relaxed) != 0
    }

    /// Whether no message waits in this queue and in those of the modules before it.
    #[doc = include_str!("../../doc/driver.md")]
    pub fn is_chain_empty(&self) -> bool {
        self.run.chain[..=self.at].iter().all(|link| self.run.store.is_empty(link.queue))
    }

    /// Whether there is nothing behind this queue: it is the write queue of a driver.
    fn is_last(&self) -> bool {
        let link = &self.run.chain[self.at];
        link.is_driver() && link.side == Side::Write
    }
}
