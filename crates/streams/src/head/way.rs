//! A direction as one handle uses it: lane, store, and the chain of modules that it has found there.

use std::sync::atomic::Ordering;

use headwater_shm::{Hold, Membership, Outer};

use super::data::DataRun;
use super::deliver::CHANGED;
use super::options::{ReadMode, ReadOptions, WriteOptions};
use crate::error::Result;
use crate::events;
use crate::plumb::chain::{self, Link};
use crate::process::region::Region;
use crate::queue::lane::reader::LaneReader;
use crate::queue::lane::writer::{LaneWriter, Open};
use crate::queue::store::{HEAD, Store};
use crate::sched::Effects;

/// One direction of a stream.
#[derive(Debug)]
pub(crate) struct Way {
    pub writer: LaneWriter,
    pub reader: LaneReader,
    pub store: Store,
    pub chain: Vec<Link>,
    direction: usize,
    /// Which quick way plain data may take.
    quick: Open,
    pub data: DataRun,
    /// How the token was taken, while a run along the other direction has it too.
    inner: Option<Pass>,
    /// What such runs have to tell when they are over.
    pub inner_effects: Effects,
}

/// How a token was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// By its bias.
    Biased,
    /// By its bias, inside of another token.
    Inner(Outer),
    /// As a lock.
    Held,
}

impl Way {
    pub fn new(region: &Region, direction: usize) -> Way {
        let lane = || {
            let words = region.fixed.part(|fixed| &fixed.lanes[direction]);
            (words, region.marks(direction), region.window(direction))
        };
        let (words, marks, window) = lane();
        let index = 3 * direction as u32;
        let writer = LaneWriter::new(words, marks, window, region.message_max(), region.fence, index);
        let (words, marks, window) = lane();
        let reader = LaneReader::new(words, marks, window, region.fence, index + 1);
        Way {
            writer,
            reader,
            store: region.store(direction),
            chain: Vec::new(),
            direction,
            quick: Open::Closed,
            data: DataRun::default(),
            inner: None,
            inner_effects: Effects::default(),
        }
    }

    /// Takes the writer's token, and reads anew what has changed.
    #[inline]
    pub fn begin(&mut self, me: &Membership, region: &Region) -> Result<Pass> {
        if self.writer.token.enter(me) {
            return Ok(Pass::Biased);
        }
        self.hold(me, region)
    }

    /// Takes the writer's token for one who may have another, and keeps it until [`Way::leave_inner`].
    pub fn enter_inner(&mut self, me: &Membership, region: &Region) -> Result<()> {
        if self.inner.is_none() {
            self.inner = Some(match self.writer.token.enter_inner(me) {
                Some(outer) => Pass::Inner(outer),
                None => self.hold(me, region)?,
            });
        }
        Ok(())
    }

    /// Gives the token back, if a run along the other direction has taken it.
    pub fn leave_inner(&mut self, me: &Membership) {
        if let Some(pass) = self.inner.take() {
            self.end(me, pass);
        }
    }

    fn hold(&mut self, me: &Membership, region: &Region) -> Result<Pass> {
        let hold = self.writer.hold(me)?;
        let notices = self.writer.token.notices();
        if hold == Hold::Fresh || notices != 0 {
            self.writer.token.clear(notices);
            if let Err(error) = self.land(me).and_then(|()| self.configure(region)) {
                self.writer.release(me, Open::Closed);
                // Whoever asks finds it again: a module that is not known is not passed by.
                self.writer.token.forget();
                return Err(error);
            }
        }
        Ok(Pass::Held)
    }

    /// Puts back what somebody who died had taken out of a module's queue. Under the writer's token, taken anew.
    pub fn land(&mut self, me: &Membership) -> Result<()> {
        if self.store.has_lifted() {
            let tail = self.writer.tail();
            self.store.with(me, |store| store.land(tail))?;
        }
        Ok(())
    }

    /// Gives the writer's token back.
    #[inline]
    pub fn end(&mut self, me: &Membership, pass: Pass) {
        // What waits in a module's queue goes before what is written next. Only the token's holder queues something there.
        let quick = if self.is_clear() && !events::are_calls_recorded() { self.quick } else { Open::Closed };
        match pass {
            Pass::Biased => {
                self.writer.open(quick);
                self.writer.token.leave(me);
            }
            Pass::Inner(outer) => {
                self.writer.open(quick);
                self.writer.token.leave_inner(me, outer);
            }
            Pass::Held => self.writer.release(me, quick),
        }
    }

    /// 0 or 1.
    pub fn direction(&self) -> usize {
        self.direction
    }

    /// Whether a writer that waits for room for a message of that band may go on: a look from without the token.
    pub fn may_write(&self, region: &Region, band: u8) -> bool {
        match self.chain.iter().find(|link| link.service) {
            Some(link) => self.store.may_go_on(link.queue, band),
            None if band > 0 || !region.policy.lane => self.store.may_go_on(HEAD, band),
            None => self.writer.may_go_on(),
        }
    }

    /// Whether nothing waits in the modules' queues: a look from without the store's token.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.chain.iter().all(|link| !link.service || self.store.is_empty(link.queue))
    }

    /// Makes the next call of any member of this direction look at options, state and modules again.
    pub fn announce(&self) {
        self.writer.token.notify(CHANGED);
        self.reader.token.notify(CHANGED);
    }

    /// Forgets what was another process's, in a forked child.
    pub fn forget(&mut self) {
        self.writer.token.forget();
        self.writer.close();
        self.reader.token.forget();
        self.reader.close();
        self.store.forget();
    }

    /// Gives up what this handle alone had.
    pub fn retire(&mut self) {
        self.writer.token.retire();
        self.reader.token.retire();
        self.store.retire();
    }

    /// Reads options, state and modules. Under the writer's token.
    pub fn configure(&mut self, region: &Region) -> Result<()> {
        let fixed = &region.fixed;
        let (from, to) = (&fixed.ends[self.direction].0, &fixed.ends[1 - self.direction].0);
        let (read, write) = (ReadOptions::of(to), WriteOptions::of(from));
        let policy = region.policy;
        // A reader of messages is to find the boundaries of writes.
        let coalescing = policy.coalescing && read.mode == ReadMode::Bytes && !write.delimit;
        self.writer.set_flow(coalescing);
        self.chain = chain::resolve(region, self.direction)?;
        let undisturbed = from.state.load(Ordering::Relaxed) == 0;
        let usual = policy.lane && policy.wake_once && undisturbed && !write.delimit;
        self.quick = match self.chain[..] {
            [] if usual && coalescing => Open::Direct,
            [_, ..] if usual => Open::Through,
            _ => Open::Closed,
        };
        self.data.modules.clear();
        if self.chain.iter().all(|link| link.module.info().data) {
            self.data.modules.extend(self.chain.iter().map(|link| link.module));
        }
        Ok(())
    }
}
