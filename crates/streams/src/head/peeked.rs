//! The message at the front of the head's queue, which is in the lane or in the store; and the guard of the reader's
//! side, which alone can look at it.

use headwater_shm::Hold;

use super::get::Taken;
use super::options::{ReadMode, ReadOptions};
use crate::error::{Result, corrupt};
use crate::events;
use crate::limits::EMPTY_MAX;
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::chain;
use crate::plumb::direction::{CHANGED, Direction, arrived, is_readable};
use crate::plumb::module::{Earlier, Module};
use crate::process::end::End;
use crate::process::listeners::signal;
use crate::queue::lane::reader::{LaneFront, ReaderGuard};
use crate::queue::lane::{Guard, Kept, Record, there};
use crate::queue::store::{HEAD, Store, StoreGuard, StoreSide, Stored};
use crate::sched::deliver::raise;

/// The longest control part that a module is asked about that was pushed later: that of an indication with an address and options.
const EARLIER_MAX: usize = 256;

/// The message at the front, and the number of bytes left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeekedMessage {
    pub header: MessageHeader,
    /// Bytes left of the control part, if there is one.
    pub control: Option<usize>,
    /// Bytes left of the data part, if there is one. For plain bytes: the known ones.
    pub data: Option<usize>,
    place: Location,
    /// It came before a module that takes it for something else, as which it is described here.
    earlier: Earlier,
}

#[derive(Debug, Clone, Copy)]
enum Location {
    Plain,
    Record(Record),
    Stored(Stored),
}

impl PeekedMessage {
    /// Bytes of writes without boundaries.
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

/// A direction's reading side, under the reader's lock. Dropping it releases the lock, and opens the fast path if
/// nothing is in front of plain data.
#[derive(Debug)]
pub(crate) struct ReadSide<'w> {
    pub lane: ReaderGuard<'w>,
    store: StoreSide<'w>,
    end: &'w End,
    /// Plain data is read as bytes.
    plain: bool,
    /// A take from the store has made room for a waiter there.
    room: bool,
}

impl Direction {
    /// Takes the reader's lock. Notices are cleared: every holder of the lock checks what they announce.
    ///
    /// Errors: `EINVAL` if this process does not know a module on the path, whose service procedure a reader may have to run;
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

/// Reads changes by other members, after a side's lock was taken without a bias.
// By value, and back: a guard without a reference to it stays in registers.
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

    /// Releases the lock. Returns whether a take has made room for a waiter for the store (waiters for the lane have a
    /// word of flags).
    #[inline]
    pub fn end(self) -> bool {
        self.room
    }

    /// The store under its lock, which is released with the lane's.
    #[inline]
    pub fn store(&mut self) -> Result<StoreGuard<'_>> {
        self.store.lock()
    }

    /// Whether there may be a message.
    pub fn is_readable(&self) -> bool {
        is_readable(&self.lane, &self.store)
    }

    /// How many messages have come to the head's queue in the store, where those of priority are.
    pub fn arrivals(&self) -> u64 {
        self.store.arrivals(HEAD)
    }

    /// As [`crate::plumb::direction::arrived`].
    pub fn arrived(&self) -> Option<u64> {
        arrived(&self.lane, &self.store)
    }

    /// The message at the front: of the store, where those of higher bands and priority are, then of the lane.
    ///
    /// The lane is looked at first, then the store, and the lane not again: messages that were sent before the data
    /// that are found in the lane are then seen in the store.
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
                earlier: Earlier::Stays,
            }));
        }
        Ok(self.lane.front()?.map(|front| match front {
            LaneFront::Plain(count) => PeekedMessage {
                header: MessageHeader::of(Kind::Data),
                control: None,
                data: Some(usize::try_from(count).unwrap_or(usize::MAX)),
                place: Location::Plain,
                earlier: Earlier::Stays,
            },
            LaneFront::Record(record) => PeekedMessage {
                header: record.header,
                control: there(record.control),
                data: there(record.data),
                place: Location::Record(record),
                earlier: Earlier::Stays,
            },
        }))
    }

    /// As [`ReadSide::front`], after raising the signals at the front, and as modules take it that were pushed after it had come.
    pub fn front_but_signals(&mut self) -> Result<Option<PeekedMessage>> {
        for _ in 0..EMPTY_MAX {
            let Some(item) = self.front()? else { return Ok(None) };
            if item.header.kind == Kind::Signal {
                let mut number = [0];
                self.copy_data(&item, &mut number)?;
                self.take(&item, Taken::ALL)?;
                signal(&self.end.region, self.end.side, raise(self.end.words(), number[0]));
                continue;
            }
            if item.control.is_none() || !ReadOptions::treats_earlier(self.end.words()) {
                return Ok(Some(item));
            }
            if let Some(item) = self.treat_earlier(item)? {
                return Ok(Some(item));
            }
        }
        Err(corrupt!("a queue has no end"))
    }

    /// The message at the front as a module takes it that was pushed after it had come. None if it has gone with its control part.
    #[cold]
    fn treat_earlier(&mut self, item: PeekedMessage) -> Result<Option<PeekedMessage>> {
        if item.header.kind != Kind::Proto {
            return Ok(Some(item));
        }
        let mut control = [0; EARLIER_MAX];
        let len = self.copy_control(&item, &mut control)?;
        let treat = |module: &dyn Module| module.treat_earlier(&control[..len]);
        let mut treated = chain::modules(&self.end.region.fixed, self.end.side).map(treat);
        let earlier = treated.find(|earlier| *earlier != Earlier::Stays).unwrap_or(Earlier::Stays);
        let header = MessageHeader { band: item.header.band, ..MessageHeader::of(Kind::Data) };
        match earlier {
            Earlier::Stays => Ok(Some(item)),
            Earlier::Data => {
                let all = item.data.unwrap_or(0) == 0;
                self.take(&item, Taken { control: item.control, data: None, all })?;
                Ok(None)
            }
            Earlier::End | Earlier::Hangup => {
                Ok(Some(PeekedMessage { header, control: None, data: Some(0), earlier, ..item }))
            }
        }
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

    /// Takes the given bytes of the message at the front.
    pub fn take(&mut self, item: &PeekedMessage, taken: Taken) -> Result<()> {
        let Taken { control, data, all } = match item.earlier {
            Earlier::Hangup => return Ok(()),
            Earlier::End => Taken::ALL,
            Earlier::Stays | Earlier::Data => taken,
        };
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
