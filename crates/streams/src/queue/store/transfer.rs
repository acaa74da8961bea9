//! Messages between two queues: a service procedure has taken one, and has not passed it on yet.
//!
//! Its sender was told that it is written, so it must survive the process that moves it. It therefore stays in its
//! block until it has arrived elsewhere: in the lane, whose position has then changed, or in a queue, which is noted
//! before the store's lock is released (and after a death detected by the copy, which names its transfer). The process
//! that takes over the direction's writer lock uses that to decide whether to put the message back. All of this is done
//! under that lock, and under the store's.

use std::sync::atomic::Ordering;

use headwater_shm::probe;

use super::{Store, StoreGuard, StoreSide, Stored};
use crate::error::{Result, corrupt};
use crate::layout::QUEUES;
use crate::limits::BLOCKS;
use crate::message::Message;

impl Store {
    /// Whether a message has been lifted, read without the lock.
    #[inline]
    pub fn is_transferring(&self) -> bool {
        self.words.in_transfer.load(Ordering::Relaxed) != 0
    }
}

impl StoreSide<'_> {
    /// Puts back a message that a dead process had taken out of a module's queue. Under the writer's lock, taken anew.
    pub fn abort_transfer(&mut self, tail: u64) -> Result<()> {
        if self.is_transferring() { self.lock()?.recover_transfer(tail) } else { Ok(()) }
    }
}

impl StoreGuard<'_> {
    /// Takes the message at the front as a whole (getq), and returns whether that makes room for a waiter. It stays in
    /// the store until [`Store::commit_transfer`] or the next lift. `tail` is the lane's position.
    pub fn begin_transfer(&mut self, queue: usize, tail: u64) -> Result<Option<(Message<'static>, bool)>> {
        let first = self.first(queue)?;
        self.begin_transfer_of(queue, first, tail)
    }

    /// As [`Store::begin_transfer`], the message that was found in the queue.
    pub fn begin_transfer_of(
        &mut self,
        queue: usize,
        found: Option<Stored>,
        tail: u64,
    ) -> Result<Option<(Message<'static>, bool)>> {
        self.commit_transfer()?;
        let Some(stored) = found else { return Ok(None) };
        let message = self.copy(&stored)?;
        self.begin();
        let words = &self.words;
        words.transfer_tail.store(tail, Ordering::Relaxed);
        words.transfer_from.store(queue as u32, Ordering::Relaxed);
        // Never 0, which is the origin of messages that were not lifted.
        words.transfers.store(words.transfers.load(Ordering::Relaxed).wrapping_add(1).max(1), Ordering::Relaxed);
        words.in_transfer.store(stored.block as u32 + 1, Ordering::Release);
        probe::at();
        self.unlink(queue, stored.block)?;
        let room = self.count_down(queue, stored.header, message.len());
        self.done();
        Ok(Some((message, room)))
    }

    /// The lifted message, if there is one, has been passed on: frees its block.
    pub fn commit_transfer(&mut self) -> Result<()> {
        let Some(block) = self.index(self.words.in_transfer.load(Ordering::Relaxed))? else { return Ok(()) };
        self.begin();
        self.words.in_transfer.store(0, Ordering::Release);
        probe::at();
        self.free(block)?;
        self.done();
        Ok(())
    }

    /// Recovers after a process died that had lifted a message: if the message has not arrived anywhere, it goes back
    /// to its place. `tail` is the lane's position.
    pub(super) fn recover_transfer(&mut self, tail: u64) -> Result<()> {
        let Some(block) = self.index(self.words.in_transfer.load(Ordering::Relaxed))? else { return Ok(()) };
        let words = &self.words;
        let arrived = words.arrived.load(Ordering::Relaxed) == words.transfers.load(Ordering::Relaxed);
        if arrived || tail != words.transfer_tail.load(Ordering::Relaxed) {
            return self.commit_transfer();
        }
        let queue = self.words.transfer_from.load(Ordering::Relaxed) as usize;
        let words = self.words.queues.get(queue).ok_or_else(|| corrupt!("a lifted message's queue"))?;
        self.begin();
        self.words.blocks[block].origin.store(0, Ordering::Relaxed);
        self.words.blocks[block].next.store(words.first.load(Ordering::Relaxed), Ordering::Relaxed);
        words.first.store(block as u32 + 1, Ordering::Release);
        probe::at();
        self.words.in_transfer.store(0, Ordering::Release);
        // Counts and ends are computed anew, as after a death in between.
        self.repair()
    }

    /// The origin of a message that is stored now.
    pub(super) fn origin(&self) -> u64 {
        u64::from(self.transfer_number()) | u64::from(self.open_step()) << 32
    }

    fn transfer_number(&self) -> u32 {
        if self.is_transferring() { self.words.transfers.load(Ordering::Relaxed) } else { 0 }
    }

    /// Notes that a message has been queued: if it is a copy of the lifted one, that has arrived; and so has one of the step.
    pub fn note_arrival(&self) {
        // Relaxed: read under the store's lock.
        if self.is_transferring() {
            self.words.arrived.store(self.words.transfers.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let step = self.open_step();
        if step != 0 {
            self.words.step_arrived.store(step, Ordering::Relaxed);
        }
    }

    /// Looks for a copy of the lifted message in the queues, or a message of the step, whose arrival was not noted. For repair.
    pub(super) fn find_arrival(&self) -> Result<()> {
        let (transfer, step) = (self.transfer_number(), self.open_step());
        let is_one = |number: u32, origin: u32| number != 0 && number == origin;
        for queue in &self.words.queues[..QUEUES] {
            let mut next = queue.first.load(Ordering::Acquire);
            for _ in 0..=BLOCKS {
                let Some(block) = self.index(next)? else { break };
                let origin = self.words.blocks[block].origin.load(Ordering::Relaxed);
                if is_one(transfer, origin as u32) {
                    self.words.arrived.store(transfer, Ordering::Relaxed);
                }
                if is_one(step, (origin >> 32) as u32) {
                    self.words.step_arrived.store(step, Ordering::Relaxed);
                }
                next = self.words.blocks[block].next.load(Ordering::Relaxed);
            }
        }
        Ok(())
    }
}
