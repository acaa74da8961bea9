//! Changes of a queue other than at the places where messages arrive and leave: for modules that look through their queues.

use std::sync::atomic::Ordering;

use super::{DISABLED, Store, StoreGuard, Stored, WANTS_MEMORY};
use crate::error::Result;
use crate::message::kind::MessageHeader;
use crate::queue::order::Rank;

impl StoreGuard<'_> {
    /// The headers of a queue's messages, in their order.
    pub fn list(&self, queue: usize) -> Result<Vec<MessageHeader>> {
        let mut all = Vec::new();
        self.find(queue, |stored| {
            all.push(stored.header);
            false
        })?;
        Ok(all)
    }

    /// The message at a place of a queue.
    pub fn at(&self, queue: usize, place: usize) -> Result<Option<Stored>> {
        let mut left = place;
        self.find(queue, |_| {
            left = left.wrapping_sub(1);
            left == usize::MAX
        })
    }

    /// Whether a message may stand at a place of a queue: not before one of a higher rank, nor behind one of a lower.
    pub fn may_stand(&self, queue: usize, header: MessageHeader, place: usize) -> Result<bool> {
        let (all, own) = (self.list(queue)?, Rank::of(header));
        let before = all[..place.min(all.len())].last().is_none_or(|before| Rank::of(*before) >= own);
        let behind = all.get(place).is_none_or(|behind| Rank::of(*behind) <= own);
        Ok(place <= all.len() && before && behind)
    }
}

impl Store {
    /// Ordinary messages that arrive enable the queue, or do not (enableok, noenable).
    pub fn set_disabled(&self, queue: usize, disabled: bool) {
        let flags = &self.words.queues[queue].flags;
        if disabled {
            flags.fetch_or(DISABLED, Ordering::Relaxed);
        } else {
            flags.fetch_and(!DISABLED, Ordering::Relaxed);
        }
    }

    /// Whether ordinary messages that arrive leave the queue's service procedure alone.
    pub fn is_disabled(&self, queue: usize) -> bool {
        self.words.queues[queue].flags.load(Ordering::Relaxed) & DISABLED != 0
    }

    /// Notes whether the queue is to be enabled when there is memory again (bufcall, unbufcall). The head's queue then
    /// notes that a process waits.
    pub fn set_wants_memory(&self, queue: usize, wants: bool) {
        let flags = &self.words.queues[queue].flags;
        if wants {
            flags.fetch_or(WANTS_MEMORY, Ordering::Relaxed);
            self.await_memory();
        } else {
            flags.fetch_and(!WANTS_MEMORY, Ordering::Relaxed);
        }
    }

    /// Clears the queue's request to be enabled when there is memory; returns whether it was set.
    pub fn take_wants_memory(&self, queue: usize) -> bool {
        let flags = &self.words.queues[queue].flags;
        flags.load(Ordering::Relaxed) & WANTS_MEMORY != 0
            && flags.fetch_and(!WANTS_MEMORY, Ordering::Relaxed) & WANTS_MEMORY != 0
    }
}
