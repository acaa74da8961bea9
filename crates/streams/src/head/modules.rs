//! Push, pop, look, find, list: the modules of an end; and flush, which goes through them.

use headwater_shm::{Limit, Membership, probe};

use super::handle::Handle;
use super::options::ReadOptions;
use super::state::{self, Call};
use crate::error::{Result, fixed};
use crate::events;
use crate::layout::{Plumbing, queue_of};
use crate::message::Message;
use crate::message::kind::{Flush, Kind, MessageHeader};
use crate::plumb::chain;
use crate::plumb::direction::CHANGED;
use crate::plumb::queue::Queue;
use crate::plumb::{registry, stack};
use crate::process::region::Region;
use crate::queue::store::{Store, Which};

impl Handle {
    pub(crate) fn push(&mut self, name: &str) -> Result<()> {
        self.attach()?;
        state::check(self.end.words(), Call::Plumb)?;
        let module = registry::find(name)?;
        let most = self.end.region.nstrpush as usize;
        let side = self.end.side;
        let info = module.info();
        let slot = self.replumb(|region, _, stores| {
            let free = stack::free(&region.fixed, side, most)?;
            let slot = free.slot;
            region.clear_module_instance(side, slot, info.instance)?;
            if info.earlier {
                // Before the module is there: it is asked, and none is without it.
                ReadOptions::note_treats_earlier(&region.fixed.ends[side].0, true);
            }
            stack::push(&region.fixed, side, free, name);
            let queue = queue_of(side, slot);
            for (direction, store) in stores.into_iter().enumerate() {
                store.reset_flags(queue);
                store.set_marks(queue, info.hiwat, info.lowat);
                let sizes = if direction == side { [info.minpsz, info.maxpsz] } else { [0; 2] };
                store.set_packet_sizes(queue, sizes);
            }
            Ok(slot)
        })?;
        let opened = self.run(true, |run| {
            let at = run.chain.iter().position(|link| (link.end, link.slot) == (side, slot));
            at.map_or(Ok(()), |at| module.open(&mut Queue { run, at }))
        });
        if opened.is_err() {
            self.unplug(stack::pop)?;
            self.end.region.locals.close(side, slot);
        } else {
            events::push(self.end.region.inode, side as u8, name);
            self.enable_all()?;
        }
        opened
    }

    pub(crate) fn pop(&mut self) -> Result<()> {
        self.attach()?;
        state::check(self.end.words(), Call::Plumb)?;
        let (fixed, side) = (&self.end.region.fixed, self.end.side);
        let slot = chain::stack(&fixed.plumbing[side])?.iter().next_back();
        let slot = slot.ok_or_else(|| fixed!(Inval, "no module is pushed"))?;
        let name = chain::name(fixed, side, slot)?;
        stack::check_anchor(&fixed.plumbing[side])?;
        registry::find(&name)?.close();
        // Another thread may have popped one meanwhile.
        self.unplug(stack::pop_free)?;
        self.end.region.locals.close(side, slot);
        events::pop(self.end.region.inode, self.end.side as u8, &name);
        Ok(())
    }

    pub(crate) fn anchor(&mut self) -> Result<()> {
        self.attach()?;
        if self.end.region.driver.is_none() {
            return Err(fixed!(Inval, "a pipe has no place for an anchor: its modules end at the other end"));
        }
        state::check(self.end.words(), Call::Plumb)?;
        let side = self.end.side;
        self.replumb(|region, _, _| stack::anchor(&region.fixed.plumbing[side]))
    }

    /// Removes the module that was pushed last, and the messages in its queues.
    fn unplug(&mut self, take: fn(&Plumbing) -> Result<usize>) -> Result<()> {
        let side = self.end.side;
        self.replumb(|region, me, stores| {
            let slot = take(&region.fixed.plumbing[side])?;
            for store in stores {
                store.side(me).lock()?.flush(queue_of(side, slot), Which::All)?;
            }
            let treats = chain::modules(&region.fixed, side).any(|module| module.info().earlier);
            ReadOptions::note_treats_earlier(&region.fixed.ends[side].0, treats);
            Ok(())
        })?;
        self.enable_all()
    }

    /// Makes waiters for room behind a module that was pushed or popped look again: a process that makes room now does
    /// not know of them.
    fn enable_all(&mut self) -> Result<()> {
        for outward in [true, false] {
            let direction = if outward { &self.out } else { &self.back };
            let mut may_wait = false;
            chain::resolve(&self.end.region, direction.direction(), |link| {
                if link.service && (link.is_driver() || !direction.store.is_empty(link.queue)) {
                    direction.store.enable(link.queue);
                    may_wait = true;
                }
                Ok(())
            })?;
            if may_wait {
                self.service_if_free(outward)?;
            }
        }
        self.tell_of_room_in(true)?;
        self.tell_of_room_in(false)
    }

    pub(crate) fn look(&self) -> Result<String> {
        let names = self.list()?;
        names.into_iter().next().ok_or_else(|| fixed!(Inval, "no module is pushed"))
    }

    pub(crate) fn find(&self, name: &str) -> Result<bool> {
        if registry::find_driver(name).is_err() {
            registry::find(name)?;
        }
        Ok(self.list()?.iter().any(|pushed| pushed == name))
    }

    pub(crate) fn list(&self) -> Result<Vec<String>> {
        let mut names = self.modules()?;
        names.extend(self.end.endpoint.opened_as().map(|(name, _)| name.to_owned()));
        Ok(names)
    }

    /// The names of the end's modules, the last pushed first.
    fn modules(&self) -> Result<Vec<String>> {
        let (fixed, side) = (&self.end.region.fixed, self.end.side);
        let name = |slot| chain::name(fixed, side, slot).map(|name| str::to_owned(&name));
        chain::stack(&fixed.plumbing[side])?.iter().rev().map(name).collect()
    }

    pub(crate) fn flush_queues(&mut self, flush: Flush) -> Result<()> {
        if !flush.read && !flush.write {
            return Err(fixed!(Inval, "a flush is of the read side, the write side, or both"));
        }
        self.attach()?;
        state::check(self.end.words(), Call::Ioctl)?;
        let bytes = flush.bytes();
        let done = self.run(true, |run| run.put(0, Message::new(MessageHeader::of(Kind::Flush), None, Some(&bytes))));
        self.remember_failure(done)
    }

    /// Changes the plumbing while no process sends in either direction; all members read it anew at their next call.
    /// `change` gets both stores.
    fn replumb<T>(&mut self, change: impl FnOnce(&Region, &Membership, [&mut Store; 2]) -> Result<T>) -> Result<T> {
        let changed = self.replumb_alone(change);
        self.serve_owed(true)?;
        self.serve_owed(false)?;
        changed
    }

    fn replumb_alone<T>(
        &mut self,
        change: impl FnOnce(&Region, &Membership, [&mut Store; 2]) -> Result<T>,
    ) -> Result<T> {
        let (region, me, _) = self.end.parts();
        // Always direction 0 first, so that two processes that do this do not wait for each other.
        let (first, second) =
            if self.out.direction() == 0 { (&mut self.out, &mut self.back) } else { (&mut self.back, &mut self.out) };
        let first_lane = first.writer.hold_apart(me)?;
        probe::at();
        let second_lane = second.writer.hold_apart(me)?;
        probe::at();
        // Another user that is stopped with a store's lock is waited for as long as the call may, and no longer. The
        // following change is completed.
        first.store.side(me).lock()?;
        second.store.side(me).lock()?;
        me.set_limit(Limit::Unlimited);
        let landed = first.store.side(me).abort_transfer(first_lane.tail());
        let landed = landed.and_then(|()| second.store.side(me).abort_transfer(second_lane.tail()));
        let changed = landed.and_then(|()| change(region, me, [&mut first.store, &mut second.store]));
        probe::at();
        for (lane, reader) in [(&first_lane, &first.reader), (&second_lane, &second.reader)] {
            lane.notify(CHANGED);
            reader.notify(CHANGED);
        }
        drop(first_lane);
        probe::at();
        drop(second_lane);
        changed
    }
}
