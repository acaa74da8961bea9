//! The message at the front of the head's queue, wherever it lies: in the lane, or in the store.
//!
//! All of it is under the reader's token.

use headwater_shm::{Hold, Membership};

use super::deliver::{CHANGED, URGENT, raise};
use super::get::Taken;
use super::options::{ReadMode, ReadOptions};
use super::way::{Pass, Way};
use crate::error::{Error, Result};
use crate::events;
use crate::limits::EMPTY_MAX;
use crate::message::kind::{Kind, What};
use crate::plumb::chain;
use crate::process::region::Region;
use crate::queue::lane::reader::Front;
use crate::queue::lane::{Marked, there};
use crate::queue::store::{HEAD, Stored};

/// The message at the front, and how much is left of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    pub what: What,
    /// Bytes left of the control part, if there is one.
    pub control: Option<usize>,
    /// Bytes left of the data part, if there is one. Of plain bytes: those that are known to be there.
    pub data: Option<usize>,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Plain,
    Marked(Marked),
    Stored(Stored),
}

impl Item {
    /// Bytes of writes that nobody has put boundaries around.
    pub fn is_plain(&self) -> bool {
        matches!(self.place, Place::Plain)
    }

    /// The mark in the lane, if it is there.
    pub fn marked(&self) -> Option<&Marked> {
        match &self.place {
            Place::Marked(marked) => Some(marked),
            _ => None,
        }
    }
}

impl Way {
    /// Takes the reader's token. Notices are cleared: what they are about is looked at by everyone who holds it.
    ///
    /// Errors: `EINVAL` if this process does not know a module on the way, whose service procedure a reader may have to run;
    /// before anything is taken.
    #[inline]
    pub fn begin_reading(&mut self, me: &Membership, region: &Region) -> Result<Pass> {
        if self.reader.token.enter(me) {
            return Ok(Pass::Biased);
        }
        let hold = self.reader.hold(me)?;
        let notices = self.reader.token.notices();
        if notices != 0 {
            self.reader.token.clear(URGENT | CHANGED);
        }
        if (hold == Hold::Fresh || notices & CHANGED != 0)
            && let Err(error) = chain::resolve(region, self.direction())
        {
            self.reader.release(me, false);
            // Whoever asks finds it again.
            self.reader.token.forget();
            return Err(error);
        }
        Ok(Pass::Held)
    }

    /// Gives the reader's token back, and opens the quick way if nothing stands before plain data.
    pub fn end_reading(&mut self, me: &Membership, pass: Pass, options: ReadOptions) {
        let plain = options.mode == ReadMode::Bytes && self.store.is_empty(HEAD);
        let open = plain && !events::are_calls_recorded();
        match pass {
            Pass::Biased => {
                self.reader.open(open);
                self.reader.token.leave(me);
            }
            Pass::Inner(_) => unreachable!("a reader's token is taken inside of no other"),
            Pass::Held => self.reader.release(me, open),
        }
    }

    /// The message at the front: of the store, where those of higher bands and priority are, then of the lane.
    ///
    /// The lane is looked at first, then the store, and the lane not again: what was sent before the data that are found in
    /// the lane is then seen in the store.
    pub fn front(&mut self, me: &Membership) -> Result<Option<Item>> {
        self.reader.find()?;
        #[cfg(test)]
        tests::between_looks();
        if !self.store.is_empty(HEAD)
            && let Some(stored) = self.store.with(me, |store| store.first(HEAD))?
        {
            return Ok(Some(Item {
                what: stored.what,
                control: there(stored.control),
                data: there(stored.data),
                place: Place::Stored(stored),
            }));
        }
        Ok(self.reader.front()?.map(|front| match front {
            Front::Plain(count) => Item {
                what: What::of(Kind::Data),
                control: None,
                data: Some(usize::try_from(count).unwrap_or(usize::MAX)),
                place: Place::Plain,
            },
            Front::Marked(marked) => Item {
                what: marked.what,
                control: there(marked.control),
                data: there(marked.data),
                place: Place::Marked(marked),
            },
        }))
    }

    /// As [`Way::front`], after the signals that stand there were raised. `room` notes whether that made room.
    pub fn front_but_signals(&mut self, me: &Membership, region: &Region, room: &mut bool) -> Result<Option<Item>> {
        for _ in 0..EMPTY_MAX {
            let front = self.front(me)?;
            let Some(item) = front.filter(|item| item.what.kind == Kind::Signal) else { return Ok(front) };
            let mut number = [0];
            self.copy_data(me, &item, &mut number)?;
            *room |= self.take(me, &item, Taken::ALL)?;
            raise(&region.fixed.ends[1 - self.direction()].0, number[0]);
        }
        Err(Error::corrupt("a queue has no end"))
    }

    /// Copies what is left of the control part, as far as it fits.
    pub fn copy_control(&mut self, me: &Membership, item: &Item, buffer: &mut [u8]) -> Result<usize> {
        match &item.place {
            Place::Plain => Ok(0),
            Place::Marked(marked) => Ok(self.reader.copy_control(marked, buffer)),
            Place::Stored(stored) => self.store.with(me, |store| store.copy_control(stored, buffer)),
        }
    }

    /// Copies what is left of the data part, as far as it fits.
    pub fn copy_data(&mut self, me: &Membership, item: &Item, buffer: &mut [u8]) -> Result<usize> {
        match &item.place {
            Place::Plain => Ok(self.reader.peek_plain(buffer)),
            Place::Marked(marked) => Ok(self.reader.copy_data(marked, buffer)),
            Place::Stored(stored) => self.store.with(me, |store| store.copy_data(stored, buffer)),
        }
    }

    /// Takes so much of the message at the front. Returns whether that makes room for somebody who waits for the store (who
    /// waits for the lane has a word for it).
    pub fn take(&mut self, me: &Membership, item: &Item, taken: Taken) -> Result<bool> {
        let Taken { control, data, all } = taken;
        match &item.place {
            Place::Plain => {
                let count = if all { item.data } else { data }.unwrap_or(0);
                self.reader.drop_plain(count);
                Ok(false)
            }
            Place::Marked(marked) => self.reader.take_parts(marked, control, data, all).map(|()| false),
            Place::Stored(stored) => self.store.with(me, |store| store.take(HEAD, stored, control, data, all)),
        }
    }

    /// Whether anything may be there: a look from without the token.
    pub fn is_readable(&self) -> bool {
        self.reader.bytes_there() != 0 || !self.store.is_empty(HEAD)
    }
}

#[cfg(test)]
mod tests;
