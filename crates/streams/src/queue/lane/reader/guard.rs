//! The operations on a lane under its reader's lock. Only the guard has them.

use std::ops::{Deref, DerefMut};

use headwater_shm::sync::Ordering;
use headwater_shm::{Membership, probe};

use super::{LaneFront, LaneReader};
use crate::error::{Result, corrupt};
use crate::limits::{PIECE, RECORDS};
use crate::message::kind::Kind;
use crate::queue::lane::{Part, Record, there};

/// The reading side of a lane, under its lock, which is released when this is dropped.
#[derive(Debug)]
pub(crate) struct ReaderGuard<'l> {
    pub(super) lane: &'l mut LaneReader,
    pub(super) me: &'l Membership,
}

impl Deref for ReaderGuard<'_> {
    type Target = LaneReader;

    #[inline(always)]
    fn deref(&self) -> &LaneReader {
        self.lane
    }
}

impl DerefMut for ReaderGuard<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut LaneReader {
        self.lane
    }
}

impl Drop for ReaderGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lane.lock.leave(self.me);
    }
}

impl ReaderGuard<'_> {
    /// Makes the next holder of the lock, including this member, read everything anew, so that it detects the same
    /// fault.
    pub fn doubt(&mut self) {
        self.lock.doubt();
    }

    /// Takes the notices that were set; the caller then checks what they announce.
    #[cfg(not(loom))]
    pub fn take_notices(&mut self) -> u8 {
        self.lock.take_notices()
    }

    /// Opens the fast path for the plain bytes that are known to be there, or closes it.
    pub fn open(&mut self, open: bool) {
        self.quick_until = if open { self.plain_until } else { self.head };
    }

    /// Looks for data if none is known to be there.
    pub fn find(&mut self) -> Result<()> {
        if self.head == self.tail { self.look() } else { Ok(()) }
    }

    /// The front, as far as [`ReaderGuard::find`] has found it.
    pub fn front(&mut self) -> Result<Option<LaneFront>> {
        if self.head == self.tail {
            // Only the holder of this lock writes it. A waiter relies on this word; if it were wrong, the waiter would
            // spin for ever.
            if self.words.head.0.bytes.load(Ordering::Relaxed) != self.head {
                return Err(corrupt!("a reader's own position"));
            }
            return Ok(None);
        }
        match self.plain_until.wrapping_sub(self.head) {
            0 => match self.next {
                Some(message) => Ok(Some(LaneFront::Record(message))),
                // An earlier check of it has failed.
                None => Err(corrupt!("the mark at the front")),
            },
            plain => Ok(Some(LaneFront::Plain(plain))),
        }
    }

    /// Takes plain bytes, up to what is known to be there, in pieces; returns how many.
    pub fn take_plain(&mut self, buffer: &mut [u8]) -> usize {
        let there = buffer.len().min(self.plain_until.wrapping_sub(self.head) as usize);
        for piece in buffer[..there].chunks_mut(PIECE) {
            self.take(piece);
        }
        self.close();
        there
    }

    /// Copies plain bytes without taking them.
    pub fn peek_plain(&self, buffer: &mut [u8]) -> usize {
        let there = buffer.len().min(self.plain_until.wrapping_sub(self.head) as usize);
        self.window.copy_out(self.place(self.head), &mut buffer[..there]);
        there
    }

    /// Copies what is left of the control part, as far as it fits.
    pub fn copy_control(&self, message: &Record, buffer: &mut [u8]) -> usize {
        self.copy_part(message.at, message.control, buffer)
    }

    /// Copies what is left of the data part, as far as it fits.
    pub fn copy_data(&self, message: &Record, buffer: &mut [u8]) -> usize {
        self.copy_part(message.data_at(), message.data, buffer)
    }

    /// Releases plain bytes that were read in place.
    pub fn drop_plain(&mut self, count: usize) {
        let count = (count as u64).min(self.plain_until.wrapping_sub(self.head));
        self.advance_to(self.head.wrapping_add(count));
    }

    /// Takes the given numbers of further bytes of the parts of the message at the front, a part with its last byte,
    /// and nothing of a part that is None; the message is removed when no part of it is left, or if `all` is set.
    pub fn take_parts(
        &mut self,
        message: &Record,
        control: Option<usize>,
        data: Option<usize>,
        all: bool,
    ) -> Result<()> {
        let mut rest = *message;
        rest.control = message.control.map(|part| part.less(control));
        rest.data = message.data.map(|part| part.less(data));
        if all || there(rest.control).is_none() && there(rest.data).is_none() {
            return self.drop_front();
        }
        let taken = |part: Option<Part>| part.map_or(0, |part| u64::from(part.taken_word()));
        let slot = &self.records[self.records_head as usize % RECORDS];
        // Before the position: a process that takes over after our death computes the position from here.
        slot.taken.store(taken(rest.control) | taken(rest.data) << 32, Ordering::Release);
        probe::at();
        self.next = Some(rest);
        let (given_back, early) = (rest.given_back(), rest.early());
        self.set_early(early.min(self.early));
        if given_back != rest.at {
            self.advance_to(given_back);
            self.plain_until = self.head;
        }
        self.set_early(early);
        Ok(())
    }

    /// Takes everything that is there, unread.
    pub fn flush(&mut self) -> Result<()> {
        self.look()?;
        // Mark by record: the last ones may be of bytes that are not published yet.
        while self.next.is_some() {
            self.drop_front()?;
        }
        self.advance_to(self.tail);
        self.plain_until = self.head;
        Ok(())
    }

    /// Messages in the lane as last seen, where plain bytes before each mark and at the end count as one. Signals do
    /// not count.
    pub fn messages(&self) -> usize {
        let mut count = 0;
        self.each(|front| {
            let is_signal = matches!(front, LaneFront::Record(message) if message.header.kind == Kind::Signal);
            count += usize::from(!is_signal);
            true
        });
        count
    }

    /// Calls `look` with what lies in the lane as last seen, in its order, until that returns false.
    pub fn each(&self, mut look: impl FnMut(LaneFront) -> bool) {
        let mut at = self.head;
        let mut record = self.records_head;
        for _ in 0..RECORDS * 2 {
            if at == self.tail {
                break;
            }
            let next = (record != self.records_tail)
                .then(|| Record::read(&self.records[record as usize % RECORDS]))
                .and_then(Result::ok);
            let (front, end) = match next {
                // Inside, or at its beginning: the message itself.
                Some(message) if message.at.wrapping_sub(at) as i64 <= 0 => {
                    record = record.wrapping_add(1);
                    (LaneFront::Record(message), message.end())
                }
                Some(message) if message.at.wrapping_sub(at) < self.tail.wrapping_sub(at) => {
                    (LaneFront::Plain(message.at.wrapping_sub(at)), message.at)
                }
                _ => (LaneFront::Plain(self.tail.wrapping_sub(at)), self.tail),
            };
            if !look(front) {
                break;
            }
            at = end;
        }
    }

    /// Reads how far the writer has come.
    pub fn look(&mut self) -> Result<()> {
        // Only we write them while we hold the lock. A waiter relies on these words.
        let own = &self.words.head.0;
        if own.bytes.load(Ordering::Relaxed) != self.head || own.records.load(Ordering::Relaxed) != self.records_head {
            return Err(corrupt!("a reader's own position"));
        }
        // Acquire pairs with the Release stores of the writer: bytes and marks are there.
        let tail = self.words.tail.0.bytes.load(Ordering::Acquire);
        let count = tail.wrapping_sub(self.head);
        if count > self.window.len() || count < self.known() {
            return Err(corrupt!("a writer's position"));
        }
        self.found = tail.wrapping_sub(self.tail);
        self.tail = tail;
        // Not older than the bytes that were found, and not newer: it changes only when we have taken all of them.
        self.origin = self.words.tail.0.origin.load(Ordering::Relaxed);
        self.reach = self.reach.max(self.place(tail));
        self.records_tail = self.words.tail.0.records.load(Ordering::Acquire);
        if self.records_tail.wrapping_sub(self.records_head) > RECORDS as u64 {
            return Err(corrupt!("the number of marks"));
        }
        self.find_plain()
    }

    /// Releases room up to a position. The fast path is closed until [`ReaderGuard::open`], because the next entry must
    /// be checked.
    fn advance_to(&mut self, head: u64) {
        self.quick_until = head;
        self.publish_head(head);
    }

    fn set_early(&mut self, early: u64) {
        if self.early != early {
            self.early = early;
            // Relaxed: the position that is stored next, with Release, is not seen without it.
            self.words.head.0.early.store(early, Ordering::Relaxed);
            probe::at();
        }
    }

    fn drop_front(&mut self) -> Result<()> {
        let Some(message) = self.next.take() else { return Ok(()) };
        self.set_early(0);
        self.advance_to(message.end());
        self.records_head = self.records_head.wrapping_add(1);
        // After the position: a process that takes over after our death skips a mark that is behind the position.
        self.words.head.0.records.store(self.records_head, Ordering::Release);
        probe::at();
        self.find_plain()
    }

    fn copy_part(&self, at: u64, part: Option<Part>, buffer: &mut [u8]) -> usize {
        let Some(part) = part else { return 0 };
        let count = part.left().min(buffer.len());
        self.window.copy_out(self.place(at).wrapping_add(u64::from(part.taken)), &mut buffer[..count]);
        count
    }

    /// Finds the next mark among those published, checks it, and so where plain data ends.
    fn find_plain(&mut self) -> Result<()> {
        // Nothing, until the mark was checked.
        self.plain_until = self.head;
        if self.next.is_none() && self.records_head != self.records_tail {
            let message = Record::read(&self.records[self.records_head as usize % RECORDS])?;
            let known = self.known();
            let begins = message.at.wrapping_sub(self.head);
            // A mark whose bytes are not published yet does not count. A message of which we have taken a part begins
            // before our position.
            let in_part = message.given_back() == self.head && message.given_back() != message.at;
            if in_part || begins < known {
                if message.end().wrapping_sub(self.head).wrapping_sub(1) >= known {
                    return Err(corrupt!("a message is longer than what was published"));
                }
                self.next = Some(message);
            } else if begins > self.window.len() {
                return Err(corrupt!("a message's position"));
            }
        }
        self.plain_until = match self.next {
            Some(message) if message.at.wrapping_sub(self.head) < self.known() => message.at,
            Some(_) => self.head,
            None => self.tail,
        };
        Ok(())
    }

    /// Another member may have read since: reads everything anew, from words that are valid even after a death.
    pub(super) fn refresh(&mut self) -> Result<()> {
        self.next = None;
        self.early = self.words.head.0.early.load(Ordering::Relaxed);
        let mut early = 0;
        self.head = self.words.head.0.bytes.load(Ordering::Acquire);
        self.close();
        self.tail = self.head;
        self.records_head = self.words.head.0.records.load(Ordering::Acquire);
        self.plain_until = self.head;
        self.records_tail = self.words.tail.0.records.load(Ordering::Acquire);
        if self.records_tail.wrapping_sub(self.records_head) > RECORDS as u64 {
            return Err(corrupt!("the number of marks"));
        }
        let tail = self.words.tail.0.bytes.load(Ordering::Acquire);
        if tail.wrapping_sub(self.head) > self.window.len() {
            return Err(corrupt!("a writer's position"));
        }
        while self.records_head != self.records_tail {
            let message = Record::read(&self.records[self.records_head as usize % RECORDS])?;
            let behind = self.head.wrapping_sub(message.end()) <= self.window.len();
            if !behind {
                early = message.early();
                self.set_early(early.min(self.early));
                // A reader that died between the two stores has taken more than its position says.
                let given_back = message.given_back();
                if given_back != message.at && given_back.wrapping_sub(self.head) < self.window.len() {
                    self.advance_to(given_back);
                    self.tail = given_back;
                    self.plain_until = given_back;
                }
                break;
            }
            self.records_head = self.records_head.wrapping_add(1);
            self.words.head.0.records.store(self.records_head, Ordering::Release);
            probe::at();
        }
        self.set_early(early);
        self.look()
    }
}
