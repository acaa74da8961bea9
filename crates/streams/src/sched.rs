//! A run along one direction: put procedures, then the service procedures that they enabled.
//!
//! Whoever sends, or makes room for those who wait, holds the direction's writer token and makes a run. A message is
//! passed from put procedure to put procedure in the sender's memory; a queue's newest message stays there until the run
//! ends, because its service procedure usually passes it on at once. What then still waits is stored. Nothing of a run
//! that its process does not survive has happened, but what was stored or delivered.

use std::sync::atomic::Ordering;

use headwater_shm::{Limit, Membership, probe};

use crate::counters::Counters;
use crate::error::{Errno, Error, Result};
use crate::events;
use crate::message::Message;
use crate::message::kind::What;
use crate::plumb::chain::Link;
use crate::plumb::queue::Queue;
use crate::process::region::Region;
use crate::process::sleep::SERVICE;
use crate::queue::lane::reader::LaneReader;
use crate::queue::lane::writer::LaneWriter;
use crate::queue::store::{HEAD, Store};

/// Services of one run, and messages that they get. More can only come of a peer that enables queues for ever.
pub(crate) const SERVICES_MAX: usize = 100_000;

/// A message that goes the other way, after the run.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The module that sent it, by end and slot; None: the head at the end of this direction.
    pub from: Option<(usize, usize)>,
    pub message: Message<'static>,
}

/// What is to be done when the token is given back.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Something was delivered to the reading head.
    pub delivered: bool,
    /// It is to be told at once, however little it waits for.
    pub urgent: bool,
    /// Writers that waited for room may go on.
    pub room: bool,
    /// The state of the reading end has changed: all of its sleepers look again.
    pub changed: bool,
    pub replies: Vec<Reply>,
}

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Run<'s, 'm> {
    pub region: &'s Region,
    pub me: &'s Membership,
    pub direction: usize,
    pub chain: &'s [Link],
    pub lane: &'s mut LaneWriter,
    /// The reading side of the same lane, and the store of the other direction: for what flushes throw away.
    pub far: &'s mut LaneReader,
    pub other_store: &'s mut Store,
    pub store: &'s mut Store,
    pub counters: &'s mut Counters,
    pub effects: Effects,
    /// The newest message of a queue, which is otherwise empty.
    pending: Option<(usize, Message<'m>)>,
    /// How often a message was asked for.
    gets: usize,
}

impl<'s, 'm> Run<'s, 'm> {
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "a run is made in one place, of everything that it needs")]
    pub fn new(
        region: &'s Region,
        me: &'s Membership,
        direction: usize,
        chain: &'s [Link],
        lane: &'s mut LaneWriter,
        far: &'s mut LaneReader,
        store: &'s mut Store,
        other_store: &'s mut Store,
        counters: &'s mut Counters,
    ) -> Run<'s, 'm> {
        let effects = Effects::default();
        Run { region, me, direction, chain, lane, far, other_store, store, counters, effects, pending: None, gets: 0 }
    }

    /// Hands a message to the queue at a place of the chain; behind the last one it is delivered to the head.
    #[inline]
    pub fn put(&mut self, at: usize, message: Message<'m>) -> Result<()> {
        let chain = self.chain;
        let What { kind, band, .. } = message.what;
        events::put(self.region.inode, self.direction as u8, at as u8, kind as u8, band, message.len() as u64);
        match chain.get(at) {
            Some(link) => {
                self.me.set_limit(Limit::Unlimited);
                link.module.put(message, &mut Queue { run: self, at })
            }
            None => self.deliver(message),
        }
    }

    /// Whether a message of that band may be sent from a place of the chain on: whether the next queue with a service
    /// procedure, or the head's, takes it (bcanputnext). If not, whoever makes room enables the asking queue again.
    pub fn can_put_from(&mut self, at: usize, band: u8) -> Result<bool> {
        if let Some(link) = self.chain.get(at..).and_then(|rest| rest.iter().find(|link| link.service)) {
            let queue = link.queue;
            return self.store.with(self.me, |store| Ok(store.can_put(queue, band)));
        }
        if band > 0 || !self.region.policy.lane {
            return self.store.with(self.me, |store| Ok(store.can_put(HEAD, band)));
        }
        if self.lane.has_room()? {
            return Ok(true);
        }
        if at == 0 {
            // A writer that waits at its head is woken by its own word.
            return Ok(false);
        }
        // Relaxed: ordered before the look by the heavy fence, which pairs with the light one after a take.
        let lane = &self.region.fixed.lanes[self.direction];
        lane.writer.0.sleep.fetch_or(SERVICE, Ordering::Relaxed);
        probe::at();
        self.region.fence.heavy()?;
        self.lane.has_room()
    }

    /// Whether the writers at the head may send a message in some band above 0 that was used before.
    pub fn can_put_in_some_band(&mut self) -> Result<bool> {
        let queue = self.chain.iter().find(|link| link.service).map_or(HEAD, |link| link.queue);
        self.store.with(self.me, |store| Ok(store.can_put_in_some_band(queue)))
    }

    /// Queues a message at a place of the chain, and enables the queue (putq).
    pub fn put_queue(&mut self, at: usize, message: Message<'m>) -> Result<()> {
        let queue = self.chain[at].queue;
        // What was lifted from another queue has been written: it waits in the store alone.
        let fresh = !self.store.has_lifted();
        if fresh && self.pending.is_none() && self.chain[at].service && self.store.is_empty(queue) {
            self.pending = Some((queue, message));
            return Ok(());
        }
        if self.pending.as_ref().is_some_and(|(pending, _)| *pending == queue) {
            self.store_pending()?;
        }
        self.store_message(queue, &message, Store::put)?;
        probe::at();
        self.store.enable_for(queue, message.what);
        Ok(())
    }

    /// Puts a message back where it came from (putbq). The queue is enabled when there is room.
    pub fn put_back(&mut self, at: usize, message: &Message<'_>) -> Result<()> {
        let queue = self.chain[at].queue;
        self.store_message(queue, message, Store::put_back)?;
        self.store.note_put_back(queue);
        Ok(())
    }

    /// Takes the first message of the queue at a place of the chain (getq).
    pub fn get(&mut self, at: usize) -> Result<Option<Message<'m>>> {
        let queue = self.chain[at].queue;
        self.gets += 1;
        if self.gets > SERVICES_MAX {
            return Err(Error::corrupt("a queue has no end"));
        }
        if !self.store.is_empty(queue)
            && let Some((message, room)) = {
                let tail = self.lane.tail();
                self.store.with(self.me, |store| store.lift(queue, tail))?
            }
        {
            probe::at();
            if room {
                self.back_enable(at);
            }
            return Ok(Some(message));
        }
        Ok(self.pending.take_if(|(pending, _)| *pending == queue).map(|(_, message)| message))
    }

    /// Room has been made at a place of the chain: enables the queue before it that has a service procedure, or the
    /// writers at the head. The one arrow against the flow.
    #[doc(alias = "backenable")]
    pub fn back_enable(&mut self, at: usize) {
        self.counters.back_enables += 1;
        events::back_enable(self.region.inode, self.direction as u8, at as u8);
        match self.chain[..at].iter().rev().find(|link| link.service) {
            Some(link) => self.store.enable(link.queue),
            None => self.effects.room = true,
        }
    }

    /// Runs the service procedures of all enabled queues, those nearest to the head first, until none is enabled; then
    /// stores what still waits.
    pub fn finish(&mut self) -> Result<()> {
        let mut done = self.run_services();
        if self.store.has_lifted() {
            self.store.with(self.me, Store::settle)?;
        }
        for _ in 0..SERVICES_MAX {
            if done.is_err() || !self.enable_for_memory() {
                break;
            }
            done = self.run_services();
            if self.store.has_lifted() {
                self.store.with(self.me, Store::settle)?;
            }
        }
        done.and_then(|()| self.store_pending())
    }

    fn run_services(&mut self) -> Result<()> {
        let chain = self.chain;
        for _ in 0..SERVICES_MAX {
            let enabled = |link: &Link| {
                let pending = self.pending.as_ref().is_some_and(|(queue, _)| *queue == link.queue);
                link.service && (self.store.take_enabled(link.queue) || pending)
            };
            let Some(at) = chain.iter().rposition(enabled) else { break };
            self.counters.service_runs += 1;
            self.me.set_limit(Limit::Unlimited);
            probe::at();
            let (stream, end) = (self.region.inode, self.direction as u8);
            events::service_begin(stream, end, at as u8);
            chain[at].module.service(&mut Queue { run: self, at })?;
            events::service_end(stream, end, at as u8);
            probe::at();
        }
        Ok(())
    }

    /// Asks for the service of the last queue before the head, because there is room in the head's; and of whoever waits for
    /// memory, if there is some now.
    pub fn enable_last(&mut self) {
        self.back_enable(self.chain.len());
        self.enable_for_memory();
    }

    /// If somebody was refused for want of memory and there is some: enables all queues that hold something, and the writers
    /// at the head, whatever their band. Returns whether it was so.
    fn enable_for_memory(&mut self) -> bool {
        if !self.store.take_memory_awaited() {
            return false;
        }
        for link in self.chain.iter().filter(|link| link.service && !self.store.is_empty(link.queue)) {
            self.store.enable(link.queue);
        }
        self.effects.room = true;
        true
    }

    fn store_pending(&mut self) -> Result<()> {
        match self.pending.take() {
            Some((queue, message)) => self.store_message(queue, &message, Store::put),
            None => Ok(()),
        }
    }

    /// Stores a message by putq or putbq.
    pub fn store_message(
        &mut self,
        queue: usize,
        message: &Message<'_>,
        put: impl FnOnce(&mut Store, usize, &Message<'_>) -> Result<bool>,
    ) -> Result<()> {
        let most = self.region.message_max();
        if message.len() as u64 > most {
            let len = message.len();
            return Err(Error::new(Errno::Range, format!("a message of {len} bytes exceeds this stream's {most}")));
        }
        if self.store.with(self.me, |store| put(store, queue, message))? {
            return Ok(());
        }
        Err(Error::new(Errno::Nosr, format!("the stream has no memory left for a message of {} bytes", message.len())))
    }
}
