//! The operations on a lane under its writer's lock. Only the guard has them.

use std::ops::{Deref, DerefMut};

use headwater_shm::sync::Ordering;
use headwater_shm::{Membership, probe};

use super::{LaneWriter, Open, STRIDE_MAX};
use crate::error::{Error, Result, Text, corrupt};
use crate::layout::Tail;
use crate::limits::{CUT_MAX, PIECE, RECORDS};
use crate::message::kind::{Kind, MessageHeader};
use crate::queue::lane::Record;

/// The writing side of a lane, under its lock, which is released when this is dropped.
#[derive(Debug)]
pub(crate) struct WriterGuard<'l> {
    pub(super) lane: &'l mut LaneWriter,
    pub(super) me: &'l Membership,
}

impl Deref for WriterGuard<'_> {
    type Target = LaneWriter;

    #[inline(always)]
    fn deref(&self) -> &LaneWriter {
        self.lane
    }
}

impl DerefMut for WriterGuard<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut LaneWriter {
        self.lane
    }
}

impl Drop for WriterGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lane.lock.leave(self.me);
    }
}

impl WriterGuard<'_> {
    /// Leaves after [`LaneWriter::enter_quick`]; returns whether a process on the reading side sleeps, or that side is
    /// gone.
    #[inline(always)]
    pub fn leave_quick(self) -> bool {
        self.reader_is_flagged()
    }

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

    /// Opens a fast path, or closes it.
    #[inline]
    pub fn open(&mut self, open: Open) {
        // Behind hiwat there is room for one message, and a fast write is not longer than that.
        let appends = self.coalescing && self.run_open;
        let opens = match open {
            Open::Closed => false,
            Open::Direct => appends,
            Open::Through => true,
        };
        let until = if self.is_full() { 0 } else { self.head.wrapping_add(self.unlooked()).wrapping_add(1) };
        self.open_until = if opens { until.min(self.trusted_until) } else { 0 };
        // A module's data may be longer than any message; then it needs a check.
        let short = appends && self.message_max >= PIECE as u64;
        self.append_until = if short { self.head.wrapping_add(self.window.len()).wrapping_add(1) } else { 0 };
    }

    /// Reads the water marks and maxpsz.
    pub fn set_flow(&mut self, coalescing: bool) {
        self.water = self.water_marks();
        let maxpsz = u64::from(self.words.flow.0.maxpsz.load(Ordering::Relaxed)).clamp(1, self.message_max);
        self.piece = PIECE.min(maxpsz as usize);
        self.coalescing = coalescing;
        if !coalescing {
            self.append_until = 0;
        }
    }

    /// Whether the queue accepts another message (canput): it is not above hiwat, and no check has found it so since it
    /// was at lowat.
    pub fn has_room(&mut self) -> Result<bool> {
        if self.is_full() || self.count() > self.unlooked() || self.no_mark_left() {
            let Tail { bytes, records, .. } = &self.words.tail.0;
            // Only the holder of this lock writes them. A waiter relies on them and on the water marks; if they were
            // wrong, it would spin for ever.
            if bytes.load(Ordering::Relaxed) != self.tail || records.load(Ordering::Relaxed) != self.records_tail {
                return Err(corrupt!("a writer's own position"));
            }
            self.set_flow(self.coalescing);
            self.look()?;
            self.note_flow();
            self.rewind();
        }
        Ok(!self.is_full() && self.has_window(self.count()) && !self.no_mark_left())
    }

    /// Appends plain data of any length up to the room behind hiwat, in pieces. After
    /// [`WriterGuard::has_room`].
    #[inline]
    pub fn append_plain(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() <= PIECE && self.tail.wrapping_add(bytes.len() as u64) < self.append_until {
            self.publish(bytes);
            return Ok(());
        }
        self.append_plain_slowly(bytes)
    }

    #[inline(never)]
    fn append_plain_slowly(&mut self, bytes: &[u8]) -> Result<()> {
        if !self.coalescing {
            return self.append(MessageHeader::of(Kind::Data), None, Some(bytes));
        }
        self.fits(bytes.len())?;
        if !self.run_open && !bytes.is_empty() {
            self.began += bytes.len() as u64;
            self.run_open = true;
        }
        for piece in bytes.chunks(PIECE) {
            self.publish(piece);
        }
        Ok(())
    }

    /// As [`WriterGuard::append_plain`], but published at once.
    pub fn append_whole(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() <= PIECE || !self.coalescing {
            return self.append_plain(bytes);
        }
        self.fits(bytes.len())?;
        if !self.run_open {
            self.began += bytes.len() as u64;
            self.run_open = true;
        }
        self.publish(bytes);
        Ok(())
    }

    /// The position behind what has been published.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// Appends a message with boundaries. After [`WriterGuard::has_room`].
    pub fn append(&mut self, header: MessageHeader, control: Option<&[u8]>, data: Option<&[u8]>) -> Result<()> {
        let (control_bytes, data_bytes) = (control.unwrap_or_default(), data.unwrap_or_default());
        self.fits(control_bytes.len() + data_bytes.len())?;
        if self.records_tail.wrapping_sub(self.records_head) >= RECORDS as u64 && self.marks_used() >= RECORDS as u64 {
            return Err(Error::numbered(Text::TooManyAtOnce, RECORDS as u64, 0));
        }
        self.fill(0, control_bytes);
        self.fill(control_bytes.len(), data_bytes);
        let len = |part: Option<&[u8]>| part.map(|bytes| bytes.len() as u32);
        self.record(header, len(control), len(data));
        Ok(())
    }

    /// Publishes what has been filled in at the end of the window as a message with boundaries.
    pub fn record(&mut self, header: MessageHeader, control: Option<u32>, data: Option<u32>) {
        let slot = &self.records[self.records_tail as usize % RECORDS];
        probe::at();
        Record::write(slot, self.tail, header, control, data);
        probe::at();
        self.records_tail = self.records_tail.wrapping_add(1);
        // The mark before its bytes: a reader that sees the bytes sees the mark.
        self.words.tail.0.records.store(self.records_tail, Ordering::Release);
        probe::at();
        let len = u64::from(control.unwrap_or(0)) + u64::from(data.unwrap_or(0));
        self.run_open = false;
        self.append_until = 0;
        self.not_plain = self.not_plain.wrapping_add(len.max(1));
        self.advance(len.max(1));
    }

    /// A module may have made a message longer than the stream allows, or more messages than there is room for.
    fn fits(&mut self, len: usize) -> Result<()> {
        if len as u64 > self.message_max {
            return Err(Error::numbered(Text::MessageTooLong, len as u64, self.message_max));
        }
        if self.count() + len as u64 > self.window.len() {
            self.look()?;
            if self.count() + len as u64 > self.window.len() {
                return Err(Error::numbered(Text::TooMuchAtOnce, self.window.len(), 0));
            }
        }
        Ok(())
    }

    /// Notes whether the queue is full, after a look.
    fn note_flow(&mut self) {
        let full = self.water.is_full(self.words.queued(self.tail), self.is_full());
        // Relaxed: read by the lock's holders, and as a hint by waiters.
        self.words.flow.0.full.store(u32::from(full), Ordering::Relaxed);
        probe::at();
    }

    /// Called after a look. An empty lane begins at the window's beginning again, so that a stream whose reader keeps
    /// up does not use all of its window: the same pages stay in use, and in the caches.
    fn rewind(&mut self) {
        self.stride = (2 * self.stride).min(STRIDE_MAX);
        if self.count() == 0 && self.origin != self.tail {
            self.origin = self.tail;
            // Relaxed: published with the bytes. A reader finds nothing before that.
            self.words.tail.0.origin.store(self.origin, Ordering::Relaxed);
            probe::at();
        }
    }

    /// Whether there are not enough marks for the most messages that one call sends.
    fn no_mark_left(&mut self) -> bool {
        const MOST: u64 = (RECORDS - CUT_MAX) as u64;
        // As last seen, first: a look at the reader's position costs a transfer of its cache line.
        self.records_tail.wrapping_sub(self.records_head) > MOST && self.marks_used() > MOST
    }

    /// How many marks lie in the lane, by a new look.
    fn marks_used(&mut self) -> u64 {
        // Acquire pairs with the Release store in `LaneReader::drop_front`: it is done with the mark that is written next.
        self.records_head = self.words.head.0.records.load(Ordering::Acquire);
        self.records_tail.wrapping_sub(self.records_head)
    }

    /// Reads the reader's position, and checks it.
    fn look(&mut self) -> Result<()> {
        // Only we write them while we hold the lock. A waiter relies on these words.
        let own = &self.words.tail.0;
        if own.bytes.load(Ordering::Relaxed) != self.tail || own.records.load(Ordering::Relaxed) != self.records_tail {
            return Err(corrupt!("a writer's own position"));
        }
        // Acquire pairs with the Release store in `LaneReader`: it is done with what we overwrite next.
        let head = self.words.head.0.bytes.load(Ordering::Acquire);
        let count = self.tail.wrapping_sub(head);
        if count > self.window.len() || count > self.count() {
            return Err(corrupt!("a reader's position"));
        }
        self.head = head;
        Ok(())
    }

    /// Another member may have written since: reads everything anew, and forgets a mark whose bytes were never
    /// published.
    pub(super) fn refresh(&mut self) -> Result<()> {
        self.close();
        let before = self.tail;
        self.tail = self.words.tail.0.bytes.load(Ordering::Acquire);
        self.origin = self.words.tail.0.origin.load(Ordering::Relaxed);
        self.head = self.words.head.0.bytes.load(Ordering::Acquire);
        if self.count() > self.window.len() {
            return Err(corrupt!("a writer's position"));
        }
        // Our own bytes are still at the end if no other member has written.
        self.run_open &= self.tail == before;
        self.not_plain = self.not_plain.wrapping_add(self.tail.wrapping_sub(before));
        self.records_tail = self.words.tail.0.records.load(Ordering::Acquire);
        if self.marks_used() > RECORDS as u64 {
            return Err(corrupt!("the number of marks"));
        }
        while self.records_tail != self.records_head {
            let last = Record::read(&self.records[self.records_tail.wrapping_sub(1) as usize % RECORDS])?;
            if self.tail.wrapping_sub(last.at) as i64 > 0 {
                break;
            }
            // Its writer died between the mark and the bytes.
            self.records_tail = self.records_tail.wrapping_sub(1);
            self.words.tail.0.records.store(self.records_tail, Ordering::Release);
            probe::at();
        }
        Ok(())
    }
}
