//! The reading side of a lane.

#[cfg(not(loom))]
use std::sync::atomic::AtomicU8;

use headwater_shm::sync::{Fence, Ordering, compiler_fence};
use headwater_shm::{BiasedLock, Hold, Membership, Placed, Window, probe};

#[cfg(not(loom))]
use super::Kept;
#[cfg(not(loom))]
use super::Part;
use super::Record;
use super::writer::Quick;
use crate::error::Result;
use crate::layout::{LaneWords, RecordHeader};
use crate::limits::PIECE;
#[cfg(not(loom))]
use crate::limits::RECORDS;
#[cfg(not(loom))]
use crate::message::kind::Kind;
use crate::queue::flow::WaterMarks;

mod guard;

pub(crate) use guard::ReaderGuard;

/// One member's view of a lane that it reads.
#[derive(Debug)]
pub(crate) struct LaneReader {
    /// Bytes taken, while the lock is ours.
    head: u64,
    /// The limit of a fast read: `plain_until` while the fast path is open, else `head`.
    quick_until: u64,
    window: Window,
    /// The position that lies at the window's beginning.
    origin: u64,
    words: Placed<LaneWords>,
    fence: Fence,
    lock: BiasedLock,
    records: Placed<[RecordHeader]>,
    records_head: u64,
    /// The end of the known plain bytes. At most `tail`.
    plain_until: u64,
    /// Bytes and marks published, as last seen.
    tail: u64,
    records_tail: u64,
    /// The mark at `records_head`, if it was seen.
    next: Option<Record>,
    /// As in [`ReadPosition`](crate::layout::ReadPosition), while the lock is ours.
    early: u64,
    /// Bytes that the last look has found.
    found: u64,
    /// The end of the window's part that was seen in use; see [`LaneReader::reach`].
    reach: u64,
}

/// The front of a lane.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LaneFront {
    /// Plain bytes, at least as many as this.
    Plain(u64),
    /// A message with boundaries.
    Record(Record),
}

impl LaneReader {
    pub fn new(
        words: Placed<LaneWords>,
        records: Placed<[RecordHeader]>,
        window: Window,
        fence: Fence,
        index: u32,
    ) -> LaneReader {
        let lock = BiasedLock::new(words.part(|words| &words.reader_lock.0), index);
        LaneReader {
            head: 0,
            plain_until: 0,
            window,
            origin: 0,
            words,
            fence,
            lock,
            records,
            records_head: 0,
            tail: 0,
            records_tail: 0,
            next: None,
            quick_until: 0,
            early: 0,
            found: 0,
            reach: 0,
        }
    }

    /// Fills the buffer with plain data if enough is known to be there, and nothing has changed since the last call.
    #[inline(always)]
    pub fn quick(&mut self, me: &Membership, buffer: &mut [u8]) -> Quick {
        // The subtraction sends the empty read down the slow path as well: one comparison for both.
        if (buffer.len() as u64).wrapping_sub(1) < self.quick_until.wrapping_sub(self.head)
            && buffer.len() <= PIECE
            && self.lock.enter(me)
        {
            // No guard: there is one exit.
            self.take(buffer);
            // A lock is biased only where the light fence is the compiler's.
            compiler_fence(Ordering::SeqCst);
            let asleep = self.words.writer.0.sleep.load(Ordering::Relaxed) != 0;
            self.lock.leave_quick(me);
            return if asleep { Quick::Attend } else { Quick::Done };
        }
        Quick::Refused
    }

    /// Looks for data if none is known to be there, and then does the same as [`LaneReader::quick`]. Opens the fast
    /// path if `first` returns that the lane's data come before all else: it is called after the look, because messages
    /// that were sent before the found data must then be visible.
    pub fn look_and_take(&mut self, me: &Membership, buffer: &mut [u8], first: impl FnOnce() -> bool) -> Result<Quick> {
        if buffer.len().wrapping_sub(1) >= PIECE || !self.lock.enter(me) {
            return Ok(Quick::Refused);
        }
        let mut reading = ReaderGuard { lane: self, me };
        let looked = reading.find();
        reading.open(looked.is_ok() && first());
        drop(reading);
        looked?;
        Ok(self.quick(me, buffer))
    }

    /// Enters if the lock is ours by its bias and nothing has changed; else takes it, and reads anew the words that
    /// other members may have changed. The fast path is then closed until [`ReaderGuard::open`]. No [`Hold`]: nothing
    /// has changed, and no notice was set.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn enter<'l>(&'l mut self, me: &'l Membership) -> Result<(ReaderGuard<'l>, Option<Hold>)> {
        if self.lock.enter(me) {
            return Ok((ReaderGuard { lane: self, me }, None));
        }
        self.hold(me).map(|(guard, hold)| (guard, Some(hold)))
    }

    /// Takes the lock without a bias; reads anew the words that other members may have changed. Closes the fast path
    /// until [`ReaderGuard::open`].
    pub fn hold<'l>(&'l mut self, me: &'l Membership) -> Result<(ReaderGuard<'l>, Hold)> {
        let hold = self.lock.hold(me)?;
        self.close();
        let mut reading = ReaderGuard { lane: self, me };
        if hold == Hold::Stale
            && let Err(error) = reading.refresh()
        {
            reading.doubt();
            return Err(error);
        }
        Ok((reading, hold))
    }

    /// As [`LaneReader::hold`], for a caller that does not read anew what belongs to the lock beside the lane, as the modules and
    /// options of its direction: the next holder in this handle does.
    #[cfg(not(loom))]
    pub fn hold_apart<'l>(&'l mut self, me: &'l Membership) -> Result<ReaderGuard<'l>> {
        let (mut reading, hold) = self.hold(me)?;
        if hold == Hold::Stale {
            reading.doubt();
        }
        Ok(reading)
    }

    /// The guard again.
    #[cfg(not(loom))]
    pub fn resume<'l>(&'l mut self, me: &'l Membership, _: Kept) -> ReaderGuard<'l> {
        ReaderGuard { lane: self, me }
    }

    /// What is left of the data part, in place.
    #[cfg(not(loom))]
    pub fn data_in_place(&self, _: &Kept, message: &Record) -> [&[AtomicU8]; 2] {
        let part = message.data.unwrap_or(Part { len: 0, taken: 0, gone: true });
        self.window.in_place(self.place(message.data_at()).wrapping_add(u64::from(part.taken)), part.left())
    }

    /// Plain bytes in place, as many as are known to be there and at most `most`.
    #[cfg(not(loom))]
    pub fn plain_in_place(&self, _: &Kept, most: usize) -> [&[AtomicU8]; 2] {
        self.window.in_place(self.place(self.head), most.min(self.plain_until.wrapping_sub(self.head) as usize))
    }

    #[inline(always)]
    fn take(&mut self, buffer: &mut [u8]) {
        self.window.copy_out(self.place(self.head), buffer);
        probe::at();
        self.publish_head(self.head.wrapping_add(buffer.len() as u64));
    }

    #[inline(always)]
    fn publish_head(&mut self, head: u64) {
        self.head = head;
        // Release pairs with the Acquire load in `WriterGuard::look`: we are done with these bytes.
        self.words.head.0.bytes.store(head, Ordering::Release);
        probe::at();
    }

    /// Sets notices for the current or next holder of the reader's lock.
    pub fn notify(&self, notices: u8) {
        self.lock.notify(notices);
    }

    /// Gives up the bias of this handle.
    pub fn retire(&mut self) {
        self.lock.retire();
    }

    /// Forgets the parent's state, in a forked child.
    pub fn forget(&mut self) {
        self.lock.forget();
        self.close();
    }

    /// Closes the fast path, so that the next read checks everything.
    pub fn close(&mut self) {
        self.quick_until = self.head;
    }

    /// Bytes in the lane, as far as is known, and whether it is certain that there are no more.
    pub fn known(&self) -> u64 {
        self.tail.wrapping_sub(self.head)
    }

    /// Whether a message with boundaries is known to be at the front: then nothing has to be looked for.
    #[inline]
    pub fn knows_record(&self) -> bool {
        self.next.is_some() && self.plain_until == self.head && self.tail != self.head
    }

    /// Whether a message for getmsg is known to be at the front, and no other member has read or set a notice since.
    #[cfg(not(loom))]
    #[inline]
    pub fn has_message(&self) -> bool {
        let is_for_user = |message: &Record| matches!(message.header.kind, Kind::Data | Kind::Proto);
        self.knows_record() && self.next.as_ref().is_some_and(is_for_user) && self.lock.is_biased_to_us()
    }

    /// The number of bytes of the window that were seen in use, from its beginning, since the last
    /// [`LaneReader::forget_reach`].
    pub fn reach(&self) -> u64 {
        self.reach
    }

    /// The window's pages were given back.
    pub fn forget_reach(&mut self) {
        self.reach = 0;
    }

    /// Bytes that the last look at the writer's position has found.
    pub fn found(&self) -> u64 {
        self.found
    }

    /// The high water mark, as it is set now.
    pub fn hiwat(&self) -> u64 {
        WaterMarks::of(&self.words.flow.0).hiwat
    }

    /// The number of bytes in the lane, read without the lock. For waiting; it changes nothing.
    pub fn bytes_there(&self) -> u64 {
        self.words.tail.0.bytes.load(Ordering::Relaxed).wrapping_sub(self.words.head.0.bytes.load(Ordering::Relaxed))
    }

    /// A number that changes with each message in the lane, read without the lock.
    pub fn arrived(&self) -> u64 {
        let tail = &self.words.tail.0;
        tail.bytes.load(Ordering::Acquire).wrapping_add(tail.records.load(Ordering::Relaxed))
    }

    /// Whether a process on the writing side sleeps, or that side is gone. After a take.
    #[inline(always)]
    pub fn writer_sleeps(&self) -> bool {
        self.fence.light();
        self.words.writer.0.sleep.load(Ordering::Relaxed) != 0
    }

    /// How many messages in the lane are marked (MSGMARK). Under the lock.
    #[cfg(not(loom))]
    pub fn marked(&self) -> usize {
        let count = self.records_tail.wrapping_sub(self.records_head).min(RECORDS as u64);
        let records = (0..count).map(|at| &self.records[self.records_head.wrapping_add(at) as usize % RECORDS]);
        records.filter(|record| Record::read(record).is_ok_and(|message| message.header.marked)).count()
    }

    /// Whether a waiting writer may continue.
    pub fn is_low(&self) -> bool {
        // The writer sleeps, so its position stands still.
        let tail = self.words.tail.0.bytes.load(Ordering::Relaxed);
        WaterMarks::of(&self.words.flow.0).is_low(self.words.queued(tail))
    }

    /// Where a position lies in the window.
    #[inline(always)]
    fn place(&self, position: u64) -> u64 {
        position.wrapping_sub(self.origin)
    }
}
