//! The writing side of a lane.

#[cfg(not(loom))]
use std::sync::atomic::AtomicU8;

use headwater_shm::sync::{Fence, Ordering, compiler_fence};
use headwater_shm::{BiasedLock, Hold, Membership, Placed, Window, probe};

#[cfg(not(loom))]
use super::Kept;
use crate::error::Result;
use crate::layout::{LaneWords, RecordHeader};
use crate::limits::{CUT_MAX, RECORDS};
use crate::queue::flow::WaterMarks;

mod guard;

pub(crate) use guard::WriterGuard;

/// One member's view of a lane that it writes.
#[derive(Debug)]
pub(crate) struct LaneWriter {
    /// Bytes published, while the lock is ours.
    tail: u64,
    /// While `tail` is below, plain data is appended without a check: the queue is not above hiwat, and nothing
    /// precludes it. 0 sends every write down the slow path.
    open_until: u64,
    /// Below this plain data may be appended to the data at the end; 0 if that needs a check.
    append_until: u64,
    /// The longest write that is appended without a check: no longer than maxpsz, at which writes are cut.
    piece: usize,
    window: Window,
    /// The position that lies at the window's beginning.
    origin: u64,
    /// The number of bytes that are written before the next look at the reader's position; it grows until the reader
    /// waits.
    stride: u64,
    words: Placed<LaneWords>,
    fence: Fence,
    lock: BiasedLock,
    records: Placed<[RecordHeader]>,
    records_tail: u64,
    /// Marks taken, as last seen.
    records_head: u64,
    /// Bytes taken, as last seen.
    head: u64,
    water: WaterMarks,
    /// Bytes of the largest message: the window has room for this number above hiwat.
    message_max: u64,
    /// Whether a write may be appended to the one before.
    coalescing: bool,
    /// Plain bytes stand at the end of the lane, to which others may be appended.
    run_open: bool,
    /// `tail` less the plain bytes that were written here, and those of them that began a run.
    not_plain: u64,
    began: u64,
    /// The position at which the kernel was asked whether the reader is alive, and the position up to which we write
    /// without asking. No limit until [`LaneWriter::distrust_reader`].
    asked_at: u64,
    trusted_until: u64,
}

/// Bytes after which a writer looks at the reader's position, if the reader has waited since the last look: then about
/// this many bytes of the window are used, again and again. A look at a reader on another CPU costs as much as some
/// tens of small messages, so while messages stream it is made less often, in the end once for as many bytes as the
/// queue holds.
const STRIDE_MIN: u64 = 4 << 10;
const STRIDE_MAX: u64 = 1 << 32;

/// The fast path that plain data may use from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    /// None: the next write checks everything.
    Closed,
    /// Straight into the lane.
    Direct,
    /// Through put procedures.
    Through,
}

/// The result of a fast write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quick {
    /// Not done: it needs the slow path.
    Refused,
    /// Done; no process has to be notified.
    Done,
    /// Done; the other side sleeps or is gone.
    Attend,
}

impl LaneWriter {
    pub fn new(
        words: Placed<LaneWords>,
        records: Placed<[RecordHeader]>,
        window: Window,
        message_max: u64,
        fence: Fence,
        index: u32,
    ) -> LaneWriter {
        let lock = BiasedLock::new(words.part(|words| &words.writer_lock.0), index);
        LaneWriter {
            tail: 0,
            open_until: 0,
            append_until: 0,
            piece: 0,
            window,
            origin: 0,
            stride: STRIDE_MIN,
            words,
            fence,
            lock,
            records,
            records_tail: 0,
            records_head: 0,
            head: 0,
            water: WaterMarks::default(),
            message_max,
            coalescing: false,
            run_open: false,
            not_plain: 0,
            began: 0,
            asked_at: 0,
            trusted_until: u64::MAX,
        }
    }

    /// Writes plain data if it is short, there is room, and nothing has changed since the last call.
    #[inline(always)]
    pub fn quick(&mut self, me: &Membership, bytes: &[u8]) -> Quick {
        if !self.is_open_for(bytes.len()) || !self.lock.enter(me) {
            return Quick::Refused;
        }
        // No guard: there is one exit.
        self.publish(bytes);
        let asleep = self.reader_is_flagged();
        self.lock.leave_quick(me);
        if asleep { Quick::Attend } else { Quick::Done }
    }

    /// Whether `len` bytes of plain data may be sent without a check, if nothing has changed.
    #[inline(always)]
    pub fn is_open_for(&self, len: usize) -> bool {
        // The subtraction sends the empty write down the slow path as well: one comparison for both.
        self.tail < self.open_until && len.wrapping_sub(1) < self.piece
    }

    /// Enters if `len` bytes of plain data may be sent without a check.
    #[inline(always)]
    pub fn enter_quick<'l>(&'l mut self, me: &'l Membership, len: usize) -> Option<WriterGuard<'l>> {
        if self.is_open_for(len) && self.lock.enter(me) { Some(WriterGuard { lane: self, me }) } else { None }
    }

    /// Enters if the lock is ours by its bias and nothing has changed; else takes it, and reads anew the words that
    /// other members may have changed. The fast path is then closed until [`WriterGuard::open`]. No [`Hold`]: nothing
    /// has changed, and no notice was set.
    #[cfg(not(loom))]
    #[inline(always)]
    pub fn enter<'l>(&'l mut self, me: &'l Membership) -> Result<(WriterGuard<'l>, Option<Hold>)> {
        if self.lock.enter(me) {
            return Ok((WriterGuard { lane: self, me }, None));
        }
        self.hold(me).map(|(guard, hold)| (guard, Some(hold)))
    }

    /// Takes the lock without a bias; reads anew the words that other members may have changed. Closes the fast path
    /// until [`WriterGuard::open`].
    pub fn hold<'l>(&'l mut self, me: &'l Membership) -> Result<(WriterGuard<'l>, Hold)> {
        let hold = self.lock.hold(me)?;
        self.close();
        let mut writing = WriterGuard { lane: self, me };
        if hold == Hold::Stale
            && let Err(error) = writing.refresh()
        {
            writing.doubt();
            return Err(error);
        }
        Ok((writing, hold))
    }

    /// As [`LaneWriter::hold`], for a caller that does not read anew what belongs to the lock beside the lane, as the modules and
    /// options of its direction: the next holder in this handle does.
    #[cfg(not(loom))]
    pub fn hold_apart<'l>(&'l mut self, me: &'l Membership) -> Result<WriterGuard<'l>> {
        let (mut writing, hold) = self.hold(me)?;
        if hold == Hold::Stale {
            writing.doubt();
        }
        Ok(writing)
    }

    /// The guard again.
    #[cfg(not(loom))]
    pub fn resume<'l>(&'l mut self, me: &'l Membership, _: Kept) -> WriterGuard<'l> {
        WriterGuard { lane: self, me }
    }

    /// Whether to ask the kernel if the reader is still alive: at the first write after the reader has waited, and
    /// whenever as much again has been written since.
    pub fn is_to_ask(&self) -> bool {
        self.tail >= self.trusted_until
    }

    /// The kernel was asked, and the reader is alive.
    pub fn trust_reader(&mut self) {
        let trusted = self.trusted_until.wrapping_sub(self.asked_at);
        let written = self.tail.wrapping_sub(self.asked_at);
        self.asked_at = self.tail;
        self.trusted_until = self.tail.wrapping_add(written.max(2 * trusted).clamp(1, 1 << 30));
    }

    /// The reader waits: the next write checks whether it is alive.
    pub fn distrust_reader(&mut self) {
        (self.asked_at, self.trusted_until, self.open_until) = (self.tail, self.tail, 0);
        self.stride = STRIDE_MIN;
    }

    /// The next `len` bytes of the window, to be filled and then marked.
    #[cfg(not(loom))]
    pub fn place(&self, _: &Kept, len: usize) -> [&[AtomicU8]; 2] {
        self.window.in_place(self.tail.wrapping_sub(self.origin), len)
    }

    /// Copies bytes into that place, from its byte `at` on.
    #[cfg(not(loom))]
    pub fn fill_place(&mut self, _: &Kept, at: usize, bytes: &[u8]) {
        self.fill(at, bytes);
    }

    #[inline(always)]
    fn fill(&mut self, at: usize, bytes: &[u8]) {
        self.window.copy_in(self.tail.wrapping_sub(self.origin).wrapping_add(at as u64), bytes);
    }

    #[inline(always)]
    fn publish(&mut self, bytes: &[u8]) {
        self.fill(0, bytes);
        probe::at();
        self.advance(bytes.len() as u64);
    }

    #[inline(always)]
    fn advance(&mut self, len: u64) {
        self.tail = self.tail.wrapping_add(len);
        // Release pairs with the Acquire load in `LaneReader::look`.
        self.words.tail.0.bytes.store(self.tail, Ordering::Release);
        probe::at();
    }

    /// Whether a process on the reading side sleeps, or that side is gone. After a publication, by a member that has
    /// entered by the bias.
    #[inline(always)]
    fn reader_is_flagged(&self) -> bool {
        // A lock is biased only where the light fence is the compiler's.
        compiler_fence(Ordering::SeqCst);
        self.words.reader.0.sleep.load(Ordering::Relaxed) != 0
    }

    /// Sets notices for the current or next holder of the writer's lock.
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

    /// Closes the fast path, so that the next write checks everything.
    pub fn close(&mut self) {
        self.open_until = 0;
        self.append_until = 0;
    }

    /// Whether a process on the reading side sleeps, or that side is gone. After a publication.
    #[inline(always)]
    pub fn reader_sleeps(&self) -> bool {
        self.fence.light();
        self.words.reader.0.sleep.load(Ordering::Relaxed) != 0
    }

    /// Bytes in the lane, as last seen.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.tail.wrapping_sub(self.head)
    }

    /// Whether the window has room for the longest message behind `count` bytes. Without bytes that were taken early it has, where the
    /// queue is not above hiwat.
    fn has_window(&self, count: u64) -> bool {
        count <= self.window.len().saturating_sub(self.message_max)
    }

    /// Bytes in the lane at this moment, read without the lock.
    pub fn count_now(&self) -> u64 {
        let head = self.words.head.0.bytes.load(Ordering::Relaxed);
        self.words.tail.0.bytes.load(Ordering::Relaxed).wrapping_sub(head)
    }

    /// Whether the reader has taken all that this member has published, read without the lock.
    pub fn is_taken(&self) -> bool {
        let head = &self.words.head.0;
        let is_at = |head: u64, tail: u64| head.wrapping_sub(tail) as i64 >= 0;
        // Acquire: before the caller's next loads.
        is_at(head.bytes.load(Ordering::Acquire), self.tail)
            && is_at(head.records.load(Ordering::Relaxed), self.records_tail)
    }

    /// Whether a writer may continue, read without the lock. For waiting; it changes nothing. If it is true,
    /// [`LaneWriter::has_room`] is true as well; otherwise a writer would neither sleep nor continue.
    pub fn may_go_on(&self) -> bool {
        let tail = self.words.tail.0.bytes.load(Ordering::Relaxed);
        let records = self
            .words
            .tail
            .0
            .records
            .load(Ordering::Relaxed)
            .wrapping_sub(self.words.head.0.records.load(Ordering::Relaxed));
        let low = self.water_marks().is_low(self.words.queued(tail));
        (low || !self.is_full()) && records <= (RECORDS - CUT_MAX) as u64 && self.has_window(self.count_now())
    }

    /// The position of this member's last write, valid while it alone writes: to detect writes.
    pub fn sent(&self) -> u64 {
        self.tail
    }

    /// Plain bytes that were appended to others before them.
    pub fn coalesced(&self) -> u64 {
        self.tail.wrapping_sub(self.not_plain).wrapping_sub(self.began)
    }

    /// The water marks as they are now, limited to the room of the window.
    fn water_marks(&self) -> WaterMarks {
        WaterMarks::of(&self.words.flow.0).within(self.window.len().saturating_sub(self.message_max))
    }

    /// Bytes beyond the reader's last known position that are written without another look at it.
    fn unlooked(&self) -> u64 {
        self.water.hiwat.min(self.stride)
    }

    fn is_full(&self) -> bool {
        self.words.flow.0.full.load(Ordering::Relaxed) != 0
    }
}
