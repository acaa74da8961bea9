//! The message at the front of the head's queue, wherever it lies: in the lane, or in the store; and the guard of the reader's
//! side, which alone can look at it.

use headwater_shm::Hold;

use super::deliver::raise;
use super::get::Taken;
use super::options::{ReadMode, ReadOptions};
use crate::error::{Result, corrupt};
use crate::events;
use crate::limits::EMPTY_MAX;
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::chain;
use crate::plumb::direction::{CHANGED, Direction, is_readable};
use crate::process::end::End;
use crate::process::listeners::signal;
use crate::queue::lane::reader::{LaneFront, ReaderGuard};
use crate::queue::lane::{Guard, Kept, Record, there};
use crate::queue::store::{HEAD, Store, StoreGuard, StoreSide, Stored};

/// The message at the front, and how much is left of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeekedMessage {
    pub header: MessageHeader,
    /// Bytes left of the control part, if there is one.
    pub control: Option<usize>,
    /// Bytes left of the data part, if there is one. Of plain bytes: those that are known to be there.
    pub data: Option<usize>,
    place: Location,
}

#[derive(Debug, Clone, Copy)]
enum Location {
    Plain,
    Record(Record),
    Stored(Stored),
}

impl PeekedMessage {
    /// Bytes of writes that nobody has put boundaries around.
    pub fn is_plain(&self) -> bool {
        matches!(self.place, Location::Plain)
    }

    /// The mark in the lane, if it is there.
    pub fn record(&self) -> Option<&Record> {
        match &self.place {
            Location::Record(record) => Some(record),
            _ => None,
        }
    }
}

/// A direction's reading side, under the reader's lock. Dropped, it gives the lock back, and opens the quick way if nothing
/// stands before plain data.
#[derive(Debug)]
pub(crate) struct ReadSide<'w> {
    pub lane: ReaderGuard<'w>,
    store: StoreSide<'w>,
    end: &'w End,
    /// Plain data is read as bytes.
    plain: bool,
    /// What was taken of the store has made room for somebody who waits there.
    room: bool,
}

impl Direction {
    /// Takes the reader's lock. Notices are cleared: what they are about is looked at by everyone who holds it.
    ///
    /// Errors: `EINVAL` if this process does not know a module on the way, whose service procedure a reader may have to run;
    /// before anything is taken.
    #[inline(always)]
    pub fn begin_reading<'w>(&'w mut self, end: &'w End, options: ReadOptions) -> Result<ReadSide<'w>> {
        let direction = self.direction();
        let (lane, hold) = self.reader.enter(end.me())?;
        let lane = match hold {
            None => lane,
            Some(hold) => look_at_notices(lane, hold, end, direction)?,
        };
        Ok(ReadSide::new(lane, &mut self.store, end, options))
    }

    /// The guard of the reader's side again.
    pub fn resume_reading<'w>(&'w mut self, end: &'w End, options: ReadOptions, kept: Kept) -> ReadSide<'w> {
        ReadSide::new(self.reader.resume(end.me(), kept), &mut self.store, end, options)
    }
}

/// Looks at what others have changed, after a side's lock was taken outright.
// By value, and back: a guard that nobody has a reference to stays in registers.
#[cold]
#[inline(never)]
fn look_at_notices<'w>(mut lane: ReaderGuard<'w>, hold: Hold, end: &End, direction: usize) -> Result<ReaderGuard<'w>> {
    let notices = lane.take_notices();
    if (hold == Hold::Stale || notices & CHANGED != 0)
        && let Err(error) = chain::resolve(&end.region, direction, |_| Ok(()))
    {
        lane.doubt();
        return Err(error);
    }
    Ok(lane)
}

impl Guard for ReadSide<'_> {
    fn keep_lane_alone(&mut self) {
        self.store.unlock();
    }
}

impl Drop for ReadSide<'_> {
    #[inline]
    fn drop(&mut self) {
        self.store.unlock();
        let open = self.plain && self.store.is_empty(HEAD) && !events::are_calls_recorded();
        self.lane.open(open);
    }
}

impl<'w> ReadSide<'w> {
    #[inline]
    fn new(lane: ReaderGuard<'w>, store: &'w mut Store, end: &'w End, options: ReadOptions) -> ReadSide<'w> {
        ReadSide { lane, store: store.side(end.me()), end, plain: options.mode == ReadMode::Bytes, room: false }
    }

    /// Gives the lock back. Returns whether what was taken has made room for somebody who waits for the store (who waits for
    /// the lane has a word for it).
    #[inline]
    pub fn end(self) -> bool {
        self.room
    }

    /// The store under its lock, which is given back with the lane's.
    #[inline]
    pub fn store(&mut self) -> Result<StoreGuard<'_>> {
        self.store.lock()
    }

    /// Whether anything may be there.
    pub fn is_readable(&self) -> bool {
        is_readable(&self.lane, &self.store)
    }

    /// The message at the front: of the store, where those of higher bands and priority are, then of the lane.
    ///
    /// The lane is looked at first, then the store, and the lane not again: what was sent before the data that are found in
    /// the lane is then seen in the store.
    pub fn front(&mut self) -> Result<Option<PeekedMessage>> {
        self.lane.find()?;
        #[cfg(test)]
        tests::between_looks();
        if !self.store.is_empty(HEAD)
            && let Some(stored) = self.store()?.first(HEAD)?
        {
            return Ok(Some(PeekedMessage {
                header: stored.header,
                control: there(stored.control),
                data: there(stored.data),
                place: Location::Stored(stored),
            }));
        }
        Ok(self.lane.front()?.map(|front| match front {
            LaneFront::Plain(count) => PeekedMessage {
                header: MessageHeader::of(Kind::Data),
                control: None,
                data: Some(usize::try_from(count).unwrap_or(usize::MAX)),
                place: Location::Plain,
            },
            LaneFront::Record(record) => PeekedMessage {
                header: record.header,
                control: there(record.control),
                data: there(record.data),
                place: Location::Record(record),
            },
        }))
    }

    /// As [`ReadSide::peeked`], after the signals that stand there were raised.
    pub fn front_but_signals(&mut self) -> Result<Option<PeekedMessage>> {
        for _ in 0..EMPTY_MAX {
            let peeked = self.front()?;
            let Some(item) = peeked.filter(|item| item.header.kind == Kind::Signal) else { return Ok(peeked) };
            let mut number = [0];
            self.copy_data(&item, &mut number)?;
            self.take(&item, Taken::ALL)?;
            signal(&self.end.region, self.end.side, raise(self.end.words(), number[0]));
        }
        Err(corrupt!("a queue has no end"))
    }

    /// Copies what is left of the control part, as far as it fits.
    #[inline]
    pub fn copy_control(&mut self, item: &PeekedMessage, buffer: &mut [u8]) -> Result<usize> {
        match &item.place {
            Location::Plain => Ok(0),
            Location::Record(record) => Ok(self.lane.copy_control(record, buffer)),
            Location::Stored(stored) => self.store()?.copy_control(stored, buffer),
        }
    }

    /// Copies what is left of the data part, as far as it fits.
    #[inline]
    pub fn copy_data(&mut self, item: &PeekedMessage, buffer: &mut [u8]) -> Result<usize> {
        match &item.place {
            Location::Plain => Ok(self.lane.peek_plain(buffer)),
            Location::Record(record) => Ok(self.lane.copy_data(record, buffer)),
            Location::Stored(stored) => self.store()?.copy_data(stored, buffer),
        }
    }

    /// Takes so much of the message at the front.
    pub fn take(&mut self, item: &PeekedMessage, taken: Taken) -> Result<()> {
        let Taken { control, data, all } = taken;
        match &item.place {
            Location::Plain => {
                let count = if all { item.data } else { data }.unwrap_or(0);
                self.lane.drop_plain(count);
            }
            Location::Record(record) => self.lane.take_parts(record, control, data, all)?,
            Location::Stored(stored) => self.room |= self.store()?.take(HEAD, stored, control, data, all)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
