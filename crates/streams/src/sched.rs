//! A run along one direction: put procedures, then the service procedures that they enabled.
//!
//! A process that sends, or makes room for waiters, holds the direction's writer lock and makes a run. A message is
//! passed from put procedure to put procedure in the sender's memory; a queue's newest message stays there until the
//! run ends, because its service procedure usually passes it on at once. Messages that still wait then are stored. If
//! the process dies during a run, only stored and delivered messages remain.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;

use headwater_shm::{Limit, Membership, probe};

use crate::counters::Counters;
use crate::error::{Error, Result, Text, corrupt, fixed};
use crate::events;
use crate::message::Message;
use crate::message::kind::MessageHeader;
use crate::plumb::chain::{self, Link};
use crate::plumb::direction::{Direction, WriteSide};
use crate::plumb::module::Module;
use crate::plumb::queue::Queue;
use crate::process::beyond::Beyond;
use crate::process::listeners::SignalEvents;
use crate::process::region::Region;
use crate::process::sleep::{OWED, SERVICE};
use crate::queue::store::{HEAD, Store, StoreGuard};
use crate::sched::action::{Action, by_pointer};

pub(crate) mod action;
pub(crate) mod answer;
pub(crate) mod deliver;
pub(crate) mod step;

/// The largest number of services of one run, and of messages that they take. Only a peer that enables queues for ever
/// causes more.
pub(crate) const SERVICES_MAX: usize = 100_000;

/// A message in the other direction, sent after the run.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The module that sent it, by end and slot; None: the head at the end of this direction.
    pub from: Option<(usize, usize)>,
    pub message: Message<'static>,
}

/// The work to do after the lock is released.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Something was delivered to the reading head.
    pub delivered: bool,
    /// The head is to be notified at once, regardless of the number of bytes that it waits for.
    pub urgent: bool,
    /// The events at the reading end for which signals are sent.
    pub happened: SignalEvents,
    /// Writers that waited for room may continue.
    pub room: bool,
    /// The state of the reading end has changed: all of its sleepers look again.
    pub changed: bool,
    /// A service procedure could not be run, because another user of the stream is in the middle of a call.
    pub owed: bool,
    /// The store of the other direction was used: services there may be owed since.
    pub used_other: bool,
    /// A queue of the other direction was enabled.
    pub enabled_other: bool,
    /// Writers of the other direction that waited for room may continue.
    pub room_other: bool,
    /// There is room for messages of the partner's driver.
    pub enabled_partner: bool,
    /// A stream that is linked below was used: what has come up there is looked at.
    pub used_lower: bool,
    /// The driver waits for more events at its files than before: sleepers there are notified.
    pub watches_more: bool,
    /// A time was asked for that is earlier than all others.
    pub sooner: bool,
    /// Something was done in the other direction, from within this run: its effects are in [`Direction::inner_effects`].
    pub went_back: bool,
    /// Streams whose messages for this one may continue, by minor number.
    pub peers: Vec<u32>,
    pub replies: Vec<Reply>,
}

/// The other direction of the stream, as a run knows it.
#[derive(Debug)]
pub(crate) enum Other<'s> {
    /// The whole direction.
    Direction(&'s mut Direction),
    /// The store: it is the direction of the run from which this one is made.
    Outer(&'s mut Store),
}

impl Other<'_> {
    pub fn store(&mut self) -> &mut Store {
        match self {
            Other::Direction(direction) => &mut direction.store,
            Other::Outer(store) => store,
        }
    }
}

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Run<'s, 'm> {
    pub region: &'s Region,
    pub me: &'s Membership,
    pub direction: usize,
    /// The direction, whose lock is held during the run.
    pub side: WriteSide<'s>,
    pub other: Other<'s>,
    pub counters: &'s mut Counters,
    pub effects: Effects,
    /// The streams beyond this one that its driver may send to.
    pub beyond: Beyond<'s>,
    /// The newest message of a queue, which is otherwise empty.
    pending: Option<(usize, Message<'m>)>,
    /// How often a message was asked for.
    gets: usize,
    /// How long the call waits for other users of the stream.
    limit: Limit,
    /// The call has had an effect that other processes see, and that repeating the call, or the running service
    /// procedure, would repeat: the call is completed, even if it has to wait for other users.
    acted: bool,
    /// What was under way met another user that does not come out of its call, and was given up.
    gave_up: bool,
}

impl<'s> Deref for Run<'s, '_> {
    type Target = WriteSide<'s>;

    #[inline(always)]
    fn deref(&self) -> &WriteSide<'s> {
        &self.side
    }
}

impl DerefMut for Run<'_, '_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.side
    }
}

impl<'s, 'm> Run<'s, 'm> {
    #[inline(always)]
    pub fn new(
        region: &'s Region,
        me: &'s Membership,
        direction: usize,
        side: WriteSide<'s>,
        other: Other<'s>,
        counters: &'s mut Counters,
    ) -> Run<'s, 'm> {
        Run {
            region,
            me,
            direction,
            side,
            other,
            counters,
            effects: Effects::default(),
            beyond: Beyond::default(),
            pending: None,
            gets: 0,
            limit: me.limit(),
            acted: false,
            gave_up: false,
        }
    }

    /// Whether a message waits in a queue until the run ends.
    pub fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether a message was taken out of a queue.
    pub fn has_taken(&self) -> bool {
        self.gets > 0
    }

    /// Notes an effect: the operation must be completed from here on.
    #[inline]
    pub fn act(&mut self) {
        self.acted = true;
    }

    /// Makes a run back, from a driver's place in direction 0 on, while this one has its lock: so what several processes send
    /// back has the order in which it was sent forth. Locks are taken along the flow, direction 0 before direction 1,
    /// and work against the flow is done after a run: no two processes wait for each other.
    pub fn back<'n, T>(&mut self, action: impl FnOnce(&mut Run<'_, 'n>) -> Result<T>) -> Result<T> {
        by_pointer(action, |action| self.back_by_pointer(action))
    }

    fn back_by_pointer<'n>(&mut self, action: &mut Action<'_, 'n>) -> Result<()> {
        self.set_limit();
        self.effects.went_back = true;
        self.effects.used_other = true;
        let Other::Direction(direction) = &mut self.other else { return Err(corrupt!("a run back from a run back")) };
        let begun = direction.begin_inside(self.me, self.region);
        self.gave_up |= begun.as_ref().is_err_and(Error::is_held);
        let (side, inner_effects) = begun?;
        let outer = Other::Outer(self.side.store.unlocked());
        let mut run = Run::new(self.region, self.me, 1 - self.direction, side, outer, &mut *self.counters);
        (run.beyond.files, run.beyond.endpoint) = (self.beyond.files, self.beyond.endpoint);
        run.effects = std::mem::take(inner_effects);
        let done = action(&mut run);
        let done = run.finish(done);
        let (acted, gave_up) = (run.acted, run.gave_up);
        if run.effects.owed {
            // Before the lock is released: its next holder checks the flags.
            self.region.fixed.lanes[1 - self.direction].writer.0.sleep.fetch_or(SERVICE | OWED, Ordering::Relaxed);
        }
        *inner_effects = std::mem::take(&mut run.effects);
        drop(run);
        self.acted |= acted;
        self.gave_up |= gave_up && done.is_err();
        if acted && done.is_ok() {
            self.note_arrival()?;
        }
        done
    }

    /// Notes that the lifted message has arrived elsewhere, so that it is not put back when this process dies.
    pub fn note_arrival(&mut self) -> Result<()> {
        if !self.store.is_transferring() {
            return Ok(());
        }
        self.with_store(|store| {
            store.note_arrival();
            Ok(())
        })
    }

    /// Whether a message of that band may be sent to the partner's head. As with [`Run::back`], locks are taken along the flow.
    pub fn can_put_partner(&mut self, band: u8) -> Result<bool> {
        let limit = self.inner_limit();
        let can_put = self.beyond.partner.and_then(|partner| partner.can_put(limit, band));
        can_put.map_or(Ok(false), |can_put| self.note(can_put))
    }

    /// How long a run within this one waits for locks.
    pub fn inner_limit(&self) -> Limit {
        if self.acted { Limit::Unlimited } else { self.limit }
    }

    /// Sends a message to the partner's head.
    pub fn put_partner(&mut self, message: Message<'m>) -> Result<()> {
        let limit = self.inner_limit();
        let put = self.beyond.partner.and_then(|partner| partner.put(limit, message));
        let put = put.ok_or_else(|| fixed!(Nxio, "the stream has no partner"))?;
        self.note(put)?;
        self.act();
        self.note_arrival()
    }

    /// Calls `action` under the store's lock, waiting for it as long as the limit allows. Without modules the lock
    /// stays ours until the run is over; a module's procedures may wait for locks that come before this one.
    pub fn with_store<T>(&mut self, action: impl FnOnce(&mut StoreGuard<'_>) -> Result<T>) -> Result<T> {
        self.set_limit();
        let done = self.side.store.lock().and_then(|mut store| action(&mut store));
        if !self.chain.is_empty() {
            self.side.store.unlock();
        }
        self.note(done)
    }

    /// As [`Run::with_store`], of the other direction.
    pub fn with_other_store<T>(&mut self, action: impl FnOnce(&mut StoreGuard<'_>) -> Result<T>) -> Result<T> {
        self.set_limit();
        self.effects.used_other = true;
        let done = self.other.store().side(self.me).lock().and_then(|mut store| action(&mut store));
        self.note(done)
    }

    /// Called before each wait for a lock.
    pub fn set_limit(&self) {
        self.me.set_limit(if self.acted { Limit::Unlimited } else { self.limit });
    }

    /// Called after each wait for a lock.
    pub fn note<T>(&mut self, done: Result<T>) -> Result<T> {
        self.gave_up |= done.as_ref().is_err_and(Error::is_held);
        done
    }

    /// Hands a message to the queue at a place of the chain; behind the last one it is delivered to the head.
    #[inline]
    pub fn put(&mut self, at: usize, message: Message<'m>) -> Result<()> {
        let MessageHeader { kind, band, .. } = message.header;
        events::put(self.region.inode, self.direction as u8, at as u8, kind as u8, band, message.len() as u64);
        match self.module_at(at) {
            Some(module) => module.put(message, &mut Queue { run: self, at }),
            None => self.deliver(message),
        }
    }

    #[inline]
    fn module_at(&self, at: usize) -> Option<&'static dyn Module> {
        self.chain.get(at).map(|link| link.module)
    }

    /// Whether a message of that band may be sent from a place of the chain on: whether the next queue with a service
    /// procedure, or the head's, takes it (bcanputnext). If not, the process that makes room enables the asking queue
    /// again.
    pub fn can_put_from(&mut self, at: usize, band: u8) -> Result<bool> {
        if let Some(link) = chain::next_service(self.chain, at) {
            let queue = link.queue;
            return self.with_store(|store| Ok(store.can_put(queue, band)));
        }
        if band > 0 || !self.region.policy.lane {
            return self.with_store(|store| Ok(store.can_put(HEAD, band)));
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
        let queue = chain::next_service(self.chain, 0).map_or(HEAD, |link| link.queue);
        self.with_store(|store| Ok(store.can_put_in_some_band(queue)))
    }

    /// Queues a message at a place of the chain, and enables the queue (putq).
    pub fn put_queue(&mut self, at: usize, message: Message<'m>) -> Result<()> {
        let queue = self.chain[at].queue;
        // A message lifted from another queue was reported as written, so it waits only in the store.
        let fresh = !self.store.is_transferring();
        let idle = self.store.is_empty(queue) && !self.store.is_disabled(queue);
        if fresh && self.pending.is_none() && self.chain[at].service && idle {
            self.pending = Some((queue, message));
            return Ok(());
        }
        self.store_pending_of(queue)?;
        self.store_message(queue, &message, |store, queue, message| store.put(queue, message))?;
        probe::at();
        self.store.enable_for(queue, message.header);
        Ok(())
    }

    /// Puts a message back where it came from (putbq). The queue is enabled when there is room.
    pub fn put_back(&mut self, at: usize, message: &Message<'_>) -> Result<()> {
        let queue = self.chain[at].queue;
        self.store_message(queue, message, |store, queue, message| store.put_back(queue, message))?;
        self.store.note_put_back(queue);
        Ok(())
    }

    /// Takes the first message of the queue at a place of the chain (getq).
    pub fn get(&mut self, at: usize) -> Result<Option<Message<'m>>> {
        let queue = self.chain[at].queue;
        if !self.store.is_empty(queue)
            && let Some(message) = self.begin_transfer(at, |store, queue, tail| store.begin_transfer(queue, tail))?
        {
            return Ok(Some(message));
        }
        Ok(self.pending.take_if(|(pending, _)| *pending == queue).map(|(_, message)| message))
    }

    /// Takes the message at a place of a queue (rmvq), all of whose messages are stored.
    pub fn remove(&mut self, at: usize, place: usize) -> Result<Option<Message<'m>>> {
        self.begin_transfer(at, |store, queue, tail| {
            let found = store.at(queue, place)?;
            store.begin_transfer_of(queue, found, tail)
        })
    }

    /// Takes a message out of the queue at a place of the chain; it stays in the store until it is passed on.
    fn begin_transfer(
        &mut self,
        at: usize,
        begin_transfer: impl FnOnce(&mut StoreGuard<'_>, usize, u64) -> Result<Option<(Message<'static>, bool)>>,
    ) -> Result<Option<Message<'m>>> {
        self.gets += 1;
        if self.gets > SERVICES_MAX {
            return Err(corrupt!("a queue has no end"));
        }
        if self.store.is_transferring() {
            // The message before it is not put back any more.
            self.act();
        }
        let (queue, tail) = (self.chain[at].queue, self.lane.tail());
        let Some((message, room)) = self.with_store(|store| begin_transfer(store, queue, tail))? else {
            return Ok(None);
        };
        probe::at();
        if room {
            self.back_enable(at);
        }
        Ok(Some(message))
    }

    /// Room has been made at a place of the chain: enables the queue before it that has a service procedure, or the
    /// writers at the head. The only step against the flow.
    #[doc(alias = "backenable")]
    pub fn back_enable(&mut self, at: usize) {
        self.counters.back_enables += 1;
        events::back_enable(self.region.inode, self.direction as u8, at as u8);
        match chain::service_before(self.chain, at) {
            Some(link) => self.store.enable(link.queue),
            None => self.effects.room = true,
        }
    }

    /// Runs the service procedures of all enabled queues, those nearest to the head first, until none is enabled; then
    /// stores the messages that still wait. `done` is the result of the run's own operation.
    pub fn finish<T>(&mut self, done: Result<T>) -> Result<T> {
        let done = self.finish_services(done);
        self.end_step(done)
    }

    fn finish_services<T>(&mut self, done: Result<T>) -> Result<T> {
        if self.gave_up && done.is_err() {
            // The call has had no effect; and earlier requests wait for the same user.
            let enabled = |link: &Link| link.service && self.store.is_enabled(link.queue);
            self.effects.owed = self.chain.iter().any(enabled);
            return done;
        }
        let mut finished = self.run_services_and_commit();
        for _ in 0..SERVICES_MAX {
            if finished.is_err() || self.effects.owed || !self.enable_for_memory() {
                break;
            }
            finished = self.run_services_and_commit();
        }
        let finished = finished.and_then(|()| self.store_pending());
        done.and_then(|done| finished.map(|()| done))
    }

    fn run_services_and_commit(&mut self) -> Result<()> {
        let done = self.run_services();
        if !self.effects.owed {
            self.commit_transfer()?;
        }
        done
    }

    /// The lifted message has been passed on.
    fn commit_transfer(&mut self) -> Result<()> {
        if !self.store.is_transferring() {
            return Ok(());
        }
        self.me.set_limit(Limit::Unlimited);
        let done = self.side.store.lock()?.commit_transfer();
        self.side.store.unlock();
        done
    }

    fn run_services(&mut self) -> Result<()> {
        for _ in 0..SERVICES_MAX {
            let enabled = |link: &Link| {
                let pending = self.pending.as_ref().is_some_and(|(queue, _)| *queue == link.queue);
                link.service && (self.store.take_enabled(link.queue) || pending)
            };
            let Some(at) = self.chain.iter().rposition(enabled) else { break };
            self.counters.service_runs += 1;
            // The call's own message is still pending: then this is a part of the call.
            let (own, carries) = (self.acted, self.pending.is_some());
            (self.acted, self.gave_up) = (own && carries, false);
            probe::at();
            let (stream, end) = (self.region.inode, self.direction as u8);
            events::service_begin(stream, end, at as u8);
            let module = self.chain[at].module;
            let done = module.service(&mut Queue { run: self, at });
            events::service_end(stream, end, at as u8);
            probe::at();
            let acted = self.acted;
            self.acted = own || carries && acted;
            if self.gave_up && !acted {
                self.owe_service(at);
                // The call has failed if its message went into the service; else its result does not depend on the
                // service.
                return if carries { done } else { Ok(()) };
            }
            done?;
            self.commit_transfer()?;
        }
        Ok(())
    }

    /// A service procedure was given up before it had an effect. The message that it had lifted goes back.
    #[cold]
    fn owe_service(&mut self, at: usize) {
        self.store.enable(self.chain[at].queue);
        self.effects.owed = true;
    }

    /// Asks for the service of the last queue before the head, because there is room in the head's; and of queues that
    /// wait for memory, if there is some now.
    pub fn enable_last(&mut self) {
        self.back_enable(self.chain.len());
        self.enable_for_memory();
    }

    /// If a writer was refused for lack of memory and there is some: enables all non-empty queues, and the writers at
    /// the head, of all bands. Returns whether that was the case.
    fn enable_for_memory(&mut self) -> bool {
        if !self.store.take_memory_awaited() {
            return false;
        }
        for link in self.chain.iter().filter(|link| link.service) {
            if self.store.take_wants_memory(link.queue) || !self.store.is_empty(link.queue) {
                self.store.enable(link.queue);
            }
        }
        self.effects.room = true;
        true
    }

    /// Stores the newest message of a queue, if it is still pending.
    pub fn store_pending_of(&mut self, queue: usize) -> Result<()> {
        if self.pending.as_ref().is_some_and(|(pending, _)| *pending == queue) {
            self.store.enable(queue);
            return self.store_pending();
        }
        Ok(())
    }

    fn store_pending(&mut self) -> Result<()> {
        match self.pending.take() {
            Some((queue, message)) => {
                self.store_message(queue, &message, |store, queue, message| store.put(queue, message))
            }
            None => Ok(()),
        }
    }

    /// Whether a message is no longer than the stream allows.
    pub fn check_length(&self, message: &Message<'_>) -> Result<()> {
        let (len, most) = (message.len(), self.region.message_max());
        if len as u64 <= most {
            return Ok(());
        }
        Err(Error::numbered(Text::MessageTooLong, len as u64, most))
    }

    /// Stores a message by putq or putbq.
    pub fn store_message(
        &mut self,
        queue: usize,
        message: &Message<'_>,
        put: impl FnOnce(&mut StoreGuard<'_>, usize, &Message<'_>) -> Result<bool>,
    ) -> Result<()> {
        self.check_length(message)?;
        let is_stored = self.with_store(|store| put(store, queue, message))?;
        self.after_storing(is_stored, message)
    }

    fn after_storing(&mut self, is_stored: bool, message: &Message<'_>) -> Result<()> {
        if is_stored {
            self.act();
            return Ok(());
        }
        Err(Error::numbered(Text::NoMemory, message.len() as u64, 0))
    }
}
