//! What a module does with its queue: the calls of the DDI/DKI, under names spelled out.

use std::sync::atomic::Ordering;

use super::module::Side;
use crate::error::Result;
use crate::layout::STATE_WORDS;
use crate::message::Message;
use crate::message::kind::Flush;
use crate::queue::store::Which;
use crate::sched::{Reply, Run};

mod ioctl;
mod shape;

/// One of a module's two queues, for as long as one of its procedures runs.
#[derive(Debug)]
pub struct Queue<'q, 's, 'm> {
    pub(crate) run: &'q mut Run<'s, 'm>,
    pub(crate) at: usize,
}

impl<'m> Queue<'_, '_, 'm> {
    /// Which of the two it is.
    pub fn side(&self) -> Side {
        self.run.chain[self.at].side
    }

    /// Passes a message on to the next queue.
    ///
    /// # Errors
    /// What the rest of the way reports: `ERANGE` for a message longer than the stream allows, `ENOSR` without memory.
    #[doc(alias = "putnext")]
    #[inline]
    pub fn put_next(&mut self, message: Message<'m>) -> Result<()> {
        self.run.put(self.at + 1, message)
    }

    /// Sends a message back, from this module's other queue on. It goes when the current run is over.
    ///
    /// # Errors
    /// None at this time.
    #[doc(alias = "qreply")]
    pub fn reply(&mut self, message: Message<'_>) -> Result<()> {
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
    pub fn put_queue(&mut self, message: Message<'m>) -> Result<()> {
        self.run.put_queue(self.at, message)
    }

    /// Puts a message back to where [`Queue::get`] took it from.
    ///
    /// # Errors
    /// `ENOSR` without memory.
    #[doc(alias = "putbq")]
    pub fn put_back(&mut self, message: &Message<'_>) -> Result<()> {
        self.run.put_back(self.at, message)
    }

    /// Takes the first message. Who waited for room in the queue is enabled when it is low.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense.
    #[doc(alias = "getq")]
    pub fn get(&mut self) -> Result<Option<Message<'m>>> {
        self.run.get(self.at)
    }

    /// Whether the next queue takes a message of that band. If not, this queue is enabled when it does.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense.
    #[doc(alias = "bcanputnext")]
    pub fn can_put_next(&mut self, band: u8) -> Result<bool> {
        self.run.can_put_from(self.at + 1, band)
    }

    /// Passes on whatever the next queue takes: the usual service procedure.
    ///
    /// # Errors
    /// Those of the calls above.
    pub fn forward_all(&mut self) -> Result<()> {
        while let Some(message) = self.get()? {
            if !message.what.kind.is_high_priority() && !self.can_put_next(message.what.band)? {
                return self.put_back(&message);
            }
            self.put_next(message)?;
        }
        Ok(())
    }

    /// Asks for the service procedure to be run.
    #[doc(alias = "qenable")]
    pub fn enable(&mut self) {
        self.run.store.enable(self.run.chain[self.at].queue);
    }

    /// Does what an M_FLUSH asks of this module's two queues. The message is then passed on.
    ///
    /// # Errors
    /// `EPROTO` if the shared memory makes no sense.
    #[doc(alias = "flushq")]
    pub fn flush_as(&mut self, message: &Message<'_>) -> Result<()> {
        let Flush { read, write, band } = Flush::of(message);
        let which = band.map_or(Which::All, Which::Band);
        let queue = self.run.chain[self.at].queue;
        let (own, other) = if self.side() == Side::Read { (read, write) } else { (write, read) };
        if own && self.run.with_store(|store| store.flush(queue, which))? {
            self.run.back_enable(self.at);
        }
        if other {
            self.run.with_other_store(|store| store.flush(queue, which))?;
        }
        Ok(())
    }

    /// Messages in the queue, and bytes of one of its bands.
    #[doc(alias = "qsize")]
    pub fn size(&self, band: u8) -> (usize, usize) {
        self.run.store.size(self.run.chain[self.at].queue, band)
    }

    /// What the module remembers, shared by all processes; zeros when it is pushed. Other processes may change it between
    /// two runs.
    pub fn state(&self) -> [u64; STATE_WORDS] {
        let link = &self.run.chain[self.at];
        let words = &self.run.region.fixed.slots[link.end][link.slot].state;
        std::array::from_fn(|at| words[at].load(Ordering::Relaxed))
    }

    /// Changes what the module remembers.
    pub fn set_state(&mut self, state: [u64; STATE_WORDS]) {
        let link = &self.run.chain[self.at];
        let words = &self.run.region.fixed.slots[link.end][link.slot].state;
        for (word, value) in words.iter().zip(state) {
            word.store(value, Ordering::Relaxed);
        }
        self.run.act();
    }
}
