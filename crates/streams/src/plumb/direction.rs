//! A direction as one handle uses it: lane, store, and the chain of modules.

use std::sync::atomic::Ordering;

use headwater_os::mapped_vec::MappedVec;
use headwater_shm::{Hold, Membership};

use super::chain::{self, Link};
use super::data::DataChain;
use super::route::Routes;
use crate::error::Result;
use crate::events;
use crate::options::head::{ReadMode, ReadOptions, WriteOptions};
use crate::process::end_state::LINKED;
use crate::process::local::KnownLocals;
use crate::process::region::Region;
use crate::queue::lane::reader::LaneReader;
use crate::queue::lane::writer::{LaneWriter, Open, WriterGuard};
use crate::queue::lane::{Guard, Kept};
use crate::queue::store::{HEAD, Store, StoreSide};
use crate::sched::{Effects, step};

/// A notice to reader or writer: options, state or modules have changed.
pub(crate) const CHANGED: u8 = 2;

/// One direction of a stream.
#[derive(Debug)]
pub(crate) struct Direction {
    pub writer: LaneWriter,
    pub reader: LaneReader,
    pub store: Store,
    pub chain: MappedVec<Link>,
    /// What modules keep in this process, as far as a procedure has asked for it.
    locals: KnownLocals,
    /// The short paths of messages to other streams.
    pub routes: Routes,
    direction: usize,
    /// The fast path that plain data may use.
    quick: Open,
    pub data: DataChain,
    /// The effects of runs back from within runs along the other direction, which are reported when those are over.
    pub inner_effects: Effects,
}

impl Direction {
    pub fn new(region: &Region, direction: usize) -> Direction {
        let lane = || {
            let words = region.fixed.part(|fixed| &fixed.lanes[direction]);
            (words, region.records(direction), region.window(direction))
        };
        let (words, records, window) = lane();
        let index = 3 * direction as u32;
        let writer = LaneWriter::new(words, records, window, region.message_max(), region.fence, index);
        let (words, records, window) = lane();
        let reader = LaneReader::new(words, records, window, region.fence, index + 1);
        Direction {
            writer,
            reader,
            store: region.store(direction),
            chain: MappedVec::default(),
            locals: KnownLocals::default(),
            routes: Routes::default(),
            direction,
            quick: Open::Closed,
            data: DataChain::default(),
            inner_effects: Effects::default(),
        }
    }

    /// Takes the writer's lock, and reads changed options, state and modules anew.
    // In line, so that the guard is made where it stays.
    #[inline(always)]
    pub fn begin<'w>(&'w mut self, me: &'w Membership, region: &Region) -> Result<WriteSide<'w>> {
        let Direction { writer, reader, store, chain, locals, routes, direction, quick, data, .. } = self;
        let (lane, hold) = writer.enter(me)?;
        let mut side = WriteSide { lane, far: reader, store: store.side(me), chain, locals, routes, quick, data };
        if let Some(hold) = hold {
            side.look_at_notices(hold, region, *direction)?;
        }
        Ok(side)
    }

    /// As [`Direction::begin`], for a member that may be inside another lock by its bias: the lock is taken without a
    /// bias. The effects of such runs go into [`Direction::inner_effects`].
    pub fn begin_inside<'w>(
        &'w mut self,
        me: &'w Membership,
        region: &Region,
    ) -> Result<(WriteSide<'w>, &'w mut Effects)> {
        let Direction { writer, reader, store, chain, locals, routes, direction, quick, data, inner_effects } = self;
        let (lane, hold) = writer.hold(me)?;
        let mut side = WriteSide { lane, far: reader, store: store.side(me), chain, locals, routes, quick, data };
        side.look_at_notices(hold, region, *direction)?;
        Ok((side, inner_effects))
    }

    /// The guard of the writer's side again.
    pub fn resume_writing<'w>(&'w mut self, me: &'w Membership, kept: Kept) -> WriteSide<'w> {
        let Direction { writer, reader, store, chain, locals, routes, quick, data, .. } = self;
        WriteSide {
            lane: writer.resume(me, kept),
            far: reader,
            store: store.side(me),
            chain,
            locals,
            routes,
            quick,
            data,
        }
    }

    /// 0 or 1.
    pub fn direction(&self) -> usize {
        self.direction
    }

    /// Whether a writer that waits for room for a message of that band may continue, read without the lock.
    pub fn may_write(&self, region: &Region, band: u8) -> bool {
        may_write(&self.chain, &self.store, &self.writer, region, band)
    }

    /// Whether there may be readable data, read without the lock.
    pub fn is_readable(&self) -> bool {
        is_readable(&self.reader, &self.store)
    }

    /// As [`arrived`].
    pub fn arrived(&self) -> Option<u64> {
        arrived(&self.reader, &self.store)
    }

    /// Makes the next call of any member of this direction read options, state and modules anew.
    pub fn announce(&self) {
        self.writer.notify(CHANGED);
        self.reader.notify(CHANGED);
    }

    /// Forgets the parent's state, in a forked child.
    pub fn forget(&mut self) {
        self.writer.forget();
        self.reader.forget();
        self.store.forget();
    }

    /// Gives up the biases of this handle.
    pub fn retire(&mut self) {
        self.writer.retire();
        self.reader.retire();
        self.store.retire();
    }
}

/// A direction's writing side, under the writer's lock. Dropping it releases the lock, and opens a fast path if plain
/// data may use one.
#[derive(Debug)]
pub(crate) struct WriteSide<'w> {
    pub lane: WriterGuard<'w>,
    /// The reading side of the same lane: for flushes.
    pub far: &'w mut LaneReader,
    pub store: StoreSide<'w>,
    pub chain: &'w mut MappedVec<Link>,
    /// See [`Direction`].
    pub locals: &'w mut KnownLocals,
    pub routes: &'w mut Routes,
    quick: &'w mut Open,
    data: &'w mut DataChain,
}

impl Guard for WriteSide<'_> {
    fn keep_lane_alone(&mut self) {
        self.store.unlock();
    }
}

impl Drop for WriteSide<'_> {
    #[inline]
    fn drop(&mut self) {
        self.store.unlock();
        // The lifted message was not passed on: the next holder of the direction, possibly this one, puts it back.
        if !self.chain.is_empty() && self.store.is_transferring() {
            self.lane.notify(CHANGED);
        }
        let is_clear = self.is_clear();
        self.lane.open(if is_clear { *self.quick } else { Open::Closed });
    }
}

impl WriteSide<'_> {
    /// As [`Direction::may_write`].
    pub fn may_write(&self, region: &Region, band: u8) -> bool {
        may_write(self.chain, &self.store, &self.lane, region, band)
    }

    /// Whether no message in a module's queue goes before the next write. Only the lock's holder queues messages there.
    fn is_clear(&self) -> bool {
        let waits = |link: &Link| link.service && !self.store.is_empty(link.queue);
        !self.chain.iter().any(waits) && !events::are_calls_recorded()
    }

    /// Whether a message with a control part may be appended to the lane without the procedures on the path.
    pub fn is_clear_for_proto(&self) -> bool {
        *self.quick == Open::Through && self.data.passes_proto && self.is_clear() && !self.store.is_transferring()
    }

    #[cold]
    fn look_at_notices(&mut self, hold: Hold, region: &Region, direction: usize) -> Result<()> {
        let notices = self.lane.take_notices();
        if hold == Hold::Kept && notices == 0 {
            return Ok(());
        }
        // An unknown module is not bypassed.
        self.refresh(region, direction).inspect_err(|_| self.lane.doubt())
    }

    /// Another member may have held the lock, or has set a notice.
    fn refresh(&mut self, region: &Region, direction: usize) -> Result<()> {
        *self.quick = Open::Closed;
        let tail = self.lane.tail();
        self.store.abort_transfer(tail)?;
        if self.store.open_step() != 0 {
            step::undo(&mut self.store, tail, region)?;
        }
        self.store.unlock();
        self.configure(region, direction)
    }

    /// Reads options, state and modules.
    fn configure(&mut self, region: &Region, direction: usize) -> Result<()> {
        let fixed = &region.fixed;
        let (from, to) = (&fixed.ends[direction].0, &fixed.ends[1 - direction].0);
        let (read, write) = (ReadOptions::of(to), WriteOptions::of(from));
        let policy = region.policy;
        // A reader in a message mode must find the boundaries of writes, and so must a multiplexer above a linked end.
        let is_linked = to.state.load(Ordering::Acquire) & LINKED != 0;
        let coalescing = policy.coalescing && read.mode == ReadMode::Bytes && !write.delimit && !is_linked;
        self.lane.set_flow(coalescing);
        self.chain.clear();
        chain::resolve(region, direction, |link| Ok(self.chain.push(link)?))?;
        let undisturbed = from.state.load(Ordering::Relaxed) == 0 && to.listened.load(Ordering::Relaxed) == 0;
        let takes_all = match self.chain.first() {
            Some(first) => self.store.packet_sizes(first.queue) == [0; 2],
            None => fixed.lanes[direction].flow.0.minpsz.load(Ordering::Relaxed) == 0,
        };
        let usual = policy.lane && policy.wake_once && undisturbed && !write.delimit && takes_all;
        *self.quick = match self.chain[..] {
            [] if usual && coalescing => Open::Direct,
            [_, ..] if usual => Open::Through,
            _ => Open::Closed,
        };
        self.data.takes_all = self.chain.iter().all(|link| link.module.info().data);
        self.data.passes_proto = self.chain.iter().all(|link| link.is_driver() || link.module.info().proto);
        let maxpsz = fixed.lanes[direction].flow.0.maxpsz.load(Ordering::Relaxed);
        self.data.data_max = maxpsz.clamp(1, region.strmsgsz) as usize;
        Ok(())
    }
}

fn may_write(chain: &[Link], store: &Store, lane: &LaneWriter, region: &Region, band: u8) -> bool {
    match chain::next_service(chain, 0) {
        Some(link) => store.may_go_on(link.queue, band),
        None if band > 0 || !region.policy.lane => store.may_go_on(HEAD, band),
        None => lane.may_go_on(),
    }
}

/// A number that changes with each message that arrives at the head, read without the lock; None while a message waits in the store,
/// where no number is kept.
pub(crate) fn arrived(lane: &LaneReader, store: &Store) -> Option<u64> {
    store.is_empty(HEAD).then(|| lane.arrived())
}

/// Whether there may be data for the head, read without the lock.
pub(crate) fn is_readable(lane: &LaneReader, store: &Store) -> bool {
    lane.bytes_there() != 0 || !store.is_empty(HEAD)
}
