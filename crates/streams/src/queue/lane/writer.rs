//! The writing side of a lane.

use std::ops::{Deref, DerefMut};
#[cfg(not(loom))]
use std::sync::atomic::AtomicU8;

use headwater_shm::sync::{Fence, Ordering, compiler_fence};
use headwater_shm::{Hold, Membership, Placed, Token, Window, probe};

#[cfg(not(loom))]
use super::Kept;
use super::Marked;
use crate::error::{Errno, Error, Result};
use crate::layout::{LaneWords, Mark, Tail};
use crate::limits::{CUT_MAX, MARKS, PIECE};
use crate::message::kind::{Kind, What};

/// One member's view of a lane that it writes.
#[derive(Debug)]
pub(crate) struct LaneWriter {
    /// Bytes published, as long as the token is ours.
    tail: u64,
    /// While `tail` is below, plain data goes in without a look: the queue is not above hiwat, nothing is in the way.
    /// 0 sends every write down the slow way.
    open_until: u64,
    /// Below this plain data may be appended to what stands at the end; 0 if that needs a look.
    append_until: u64,
    /// The longest write that goes in without a look: no longer than maxpsz, at which writes are cut.
    piece: usize,
    window: Window,
    /// The position that lies at the window's beginning.
    origin: u64,
    /// So many bytes go in before the next look at how far the reader has come: ever more, until the reader waits.
    stride: u64,
    words: Placed<LaneWords>,
    fence: Fence,
    token: Token,
    marks: Placed<[Mark]>,
    marks_tail: u64,
    /// Marks taken, as last seen.
    marks_head: u64,
    /// Bytes taken, as last seen.
    head: u64,
    hiwat: u64,
    lowat: u64,
    /// Bytes of the largest message: the window has room for so many above hiwat.
    message_max: u64,
    /// Whether a write may be appended to the one before.
    coalescing: bool,
    /// Plain bytes stand at the end of the lane, to which others may be appended.
    run_open: bool,
    /// `tail` less the plain bytes that were written here, and those of them that began a run.
    not_plain: u64,
    began: u64,
    /// Where the kernel was asked whether the reader still lives, and up to where we write without asking. Without a limit
    /// until [`LaneWriter::distrust_reader`].
    asked_at: u64,
    trusted_until: u64,
}

/// Bytes after which a writer looks how far the reader has come, if the reader has waited since the last look: about so many of
/// the window are used then, again and again. A look at a reader on another CPU costs as much as some tens of small messages, so
/// while messages stream it is made less often, in the end once for as much as the queue holds.
const STRIDE_MIN: u64 = 4 << 10;
const STRIDE_MAX: u64 = 1 << 32;

/// Which quick way plain data may take from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    /// None: the next write looks at everything.
    Closed,
    /// Straight into the lane.
    Direct,
    /// Through put procedures.
    Through,
}

/// What a quick write found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quick {
    /// Not done: it needs the slow way.
    Refused,
    /// Done, and nobody is to be told.
    Done,
    /// Done; the other side sleeps or is gone.
    Attend,
}

impl LaneWriter {
    pub fn new(
        words: Placed<LaneWords>,
        marks: Placed<[Mark]>,
        window: Window,
        message_max: u64,
        fence: Fence,
        index: u32,
    ) -> LaneWriter {
        let token = Token::new(words.part(|words| &words.writer_token.0), index);
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
            token,
            marks,
            marks_tail: 0,
            marks_head: 0,
            head: 0,
            hiwat: 0,
            lowat: 0,
            message_max,
            coalescing: false,
            run_open: false,
            not_plain: 0,
            began: 0,
            asked_at: 0,
            trusted_until: u64::MAX,
        }
    }

    /// Writes plain data if it is short, there is room, and nothing has changed since the last time.
    #[inline(always)]
    pub fn quick(&mut self, me: &Membership, bytes: &[u8]) -> Quick {
        match self.enter_quick(me, bytes.len()) {
            Some(mut writing) => {
                writing.publish(bytes);
                if writing.leave_quick() { Quick::Attend } else { Quick::Done }
            }
            None => Quick::Refused,
        }
    }

    /// Whether so much plain data may be sent without a look, if nothing has changed.
    #[inline(always)]
    pub fn is_open_for(&self, len: usize) -> bool {
        // The subtraction sends the empty write down the slow way as well: one comparison for both.
        self.tail < self.open_until && len.wrapping_sub(1) < self.piece
    }

    /// Enters if so much plain data may be sent without a look.
    #[inline(always)]
    pub fn enter_quick<'l>(&'l mut self, me: &'l Membership, len: usize) -> Option<WriterGuard<'l>> {
        if self.is_open_for(len) && self.token.enter(me) { Some(WriterGuard { lane: self, me }) } else { None }
    }

    /// Enters if the token is ours by its bias and nothing has changed; else takes it, and reads anew what others may have
    /// changed. The quick way is then closed until [`WriterGuard::open`].
    #[inline]
    pub fn enter<'l>(&'l mut self, me: &'l Membership) -> Result<(WriterGuard<'l>, Hold)> {
        if self.token.enter(me) {
            return Ok((WriterGuard { lane: self, me }, Hold::Kept));
        }
        self.hold(me)
    }

    /// Takes the token as a lock; reads anew what others may have changed. Closes the quick way until [`WriterGuard::open`].
    pub fn hold<'l>(&'l mut self, me: &'l Membership) -> Result<(WriterGuard<'l>, Hold)> {
        let hold = self.token.hold(me)?;
        self.close();
        let mut writing = WriterGuard { lane: self, me };
        if hold == Hold::Fresh
            && let Err(error) = writing.refresh()
        {
            writing.doubt();
            return Err(error);
        }
        Ok((writing, hold))
    }

    /// The guard again.
    #[cfg(not(loom))]
    pub fn resume<'l>(&'l mut self, me: &'l Membership, _: Kept) -> WriterGuard<'l> {
        WriterGuard { lane: self, me }
    }

    /// Whether the kernel is to be asked whether the reader still lives: at the first write after the reader has waited, and
    /// whenever as much again has been written since.
    pub fn is_to_ask(&self) -> bool {
        self.tail >= self.trusted_until
    }

    /// The kernel was asked, and the reader lives.
    pub fn trust_reader(&mut self) {
        let trusted = self.trusted_until.wrapping_sub(self.asked_at);
        let written = self.tail.wrapping_sub(self.asked_at);
        self.asked_at = self.tail;
        self.trusted_until = self.tail.wrapping_add(written.max(2 * trusted).clamp(1, 1 << 30));
    }

    /// The reader waits: whatever happens to it, the next write is to know.
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

    /// Sets notices for whoever has the writer's token now or next.
    pub fn notify(&self, notices: u8) {
        self.token.notify(notices);
    }

    /// Gives up what this handle alone had.
    pub fn retire(&mut self) {
        self.token.retire();
    }

    /// Forgets what was another process's, in a forked child.
    pub fn forget(&mut self) {
        self.token.forget();
        self.close();
    }

    /// Closes the quick way, so that the next write looks at everything.
    pub fn close(&mut self) {
        self.open_until = 0;
        self.append_until = 0;
    }

    /// Whether somebody on the reading side sleeps, or is gone. After a publication.
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

    /// Bytes in the lane at this moment: a look from without the token.
    pub fn count_now(&self) -> u64 {
        let head = self.words.head.0.bytes.load(Ordering::Relaxed);
        self.words.tail.0.bytes.load(Ordering::Relaxed).wrapping_sub(head)
    }

    /// Whether the reader has taken all that this member has published: a look from without the token.
    pub fn is_taken(&self) -> bool {
        let head = &self.words.head.0;
        let is_at = |head: u64, tail: u64| head.wrapping_sub(tail) as i64 >= 0;
        // Acquire: before what else is looked at.
        is_at(head.bytes.load(Ordering::Acquire), self.tail)
            && is_at(head.marks.load(Ordering::Relaxed), self.marks_tail)
    }

    /// A look at the lane from without the token: whether a writer may go on. For waiting; it changes nothing.
    /// What holds here makes [`LaneWriter::has_room`] true, or a writer would neither sleep nor get on.
    pub fn may_go_on(&self) -> bool {
        let count = self
            .words
            .tail
            .0
            .bytes
            .load(Ordering::Relaxed)
            .wrapping_sub(self.words.head.0.bytes.load(Ordering::Relaxed));
        let marks = self
            .words
            .tail
            .0
            .marks
            .load(Ordering::Relaxed)
            .wrapping_sub(self.words.head.0.marks.load(Ordering::Relaxed));
        let low = count == 0 || count < self.water_marks().1;
        (low || !self.is_full()) && marks <= (MARKS - CUT_MAX) as u64
    }

    /// How far this member has written, as long as it alone writes: for noticing that it has.
    pub fn sent(&self) -> u64 {
        self.tail
    }

    /// Plain bytes that were appended to others before them.
    pub fn coalesced(&self) -> u64 {
        self.tail.wrapping_sub(self.not_plain).wrapping_sub(self.began)
    }

    /// hiwat and lowat as they are now, as far as the window has room for them. A lowat just above hiwat is no hysteresis.
    fn water_marks(&self) -> (u64, u64) {
        let flow = &self.words.flow.0;
        let limit = self.window.len().saturating_sub(self.message_max);
        let asked = u64::from(flow.hiwat.load(Ordering::Relaxed));
        let lowat = u64::from(flow.lowat.load(Ordering::Relaxed));
        let hiwat = asked.min(limit);
        (hiwat, if lowat > asked { hiwat + 1 } else { lowat.min(hiwat) })
    }

    /// Bytes beyond the reader's last known position that are written without a look.
    fn unlooked(&self) -> u64 {
        self.hiwat.min(self.stride)
    }

    fn is_full(&self) -> bool {
        self.words.flow.0.full.load(Ordering::Relaxed) != 0
    }
}

/// The writing side of a lane, under its token, which is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct WriterGuard<'l> {
    lane: &'l mut LaneWriter,
    me: &'l Membership,
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
        self.lane.token.leave(self.me);
    }
}

impl WriterGuard<'_> {
    /// Leaves after [`LaneWriter::enter_quick`]; returns whether somebody on the reading side sleeps, or is gone.
    #[inline(always)]
    pub fn leave_quick(self) -> bool {
        // A token is biased only where the light fence is the compiler's.
        compiler_fence(Ordering::SeqCst);
        self.words.reader.0.sleep.load(Ordering::Relaxed) != 0
    }

    /// Has the next one that takes the token, we too, look at everything: what was found is found again, whoever asks.
    pub fn doubt(&mut self) {
        self.token.doubt();
    }

    /// Takes the notices that were set: what they are about is looked at now.
    #[cfg(not(loom))]
    pub fn take_notices(&mut self) -> u8 {
        let notices = self.token.notices();
        if notices != 0 {
            self.token.clear(notices);
        }
        notices
    }

    /// Opens a quick way, or closes it.
    #[inline]
    pub fn open(&mut self, open: Open) {
        // Behind hiwat there is room for one message, and a quick write is no longer.
        let appends = self.coalescing && self.run_open;
        let opens = match open {
            Open::Closed => false,
            Open::Direct => appends,
            Open::Through => true,
        };
        let until = if self.is_full() { 0 } else { self.head.wrapping_add(self.unlooked()).wrapping_add(1) };
        self.open_until = if opens { until.min(self.trusted_until) } else { 0 };
        // What a module makes may be longer than any message; then it needs a look.
        let short = appends && self.message_max >= PIECE as u64;
        self.append_until = if short { self.head.wrapping_add(self.window.len()).wrapping_add(1) } else { 0 };
    }

    /// Reads the water marks and maxpsz.
    pub fn set_flow(&mut self, coalescing: bool) {
        (self.hiwat, self.lowat) = self.water_marks();
        let maxpsz = u64::from(self.words.flow.0.maxpsz.load(Ordering::Relaxed)).clamp(1, self.message_max);
        self.piece = PIECE.min(maxpsz as usize);
        self.coalescing = coalescing;
        if !coalescing {
            self.append_until = 0;
        }
    }

    /// Whether the queue accepts another message (canput): it is not above hiwat, and nobody has found it so since it was
    /// at lowat.
    pub fn has_room(&mut self) -> Result<bool> {
        if self.is_full() || self.count() > self.unlooked() || self.no_mark_left() {
            let Tail { bytes, marks, .. } = &self.words.tail.0;
            // Nobody else writes them. Who waits goes by them and by the water marks, and would look again for ever.
            if bytes.load(Ordering::Relaxed) != self.tail || marks.load(Ordering::Relaxed) != self.marks_tail {
                return Err(Error::corrupt("a writer's own position"));
            }
            self.set_flow(self.coalescing);
            self.look()?;
            self.note_flow();
            self.rewind();
        }
        Ok(!self.is_full() && !self.no_mark_left())
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
            return self.append(What::of(Kind::Data), None, Some(bytes));
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
    pub fn append(&mut self, what: What, control: Option<&[u8]>, data: Option<&[u8]>) -> Result<()> {
        let (control_bytes, data_bytes) = (control.unwrap_or_default(), data.unwrap_or_default());
        self.fits(control_bytes.len() + data_bytes.len())?;
        if self.marks_tail.wrapping_sub(self.marks_head) >= MARKS as u64 && self.marks_used() >= MARKS as u64 {
            return Err(Error::new(
                Errno::Nosr,
                format!("modules send more than the stream's {MARKS} messages at a time"),
            ));
        }
        self.fill(0, control_bytes);
        self.fill(control_bytes.len(), data_bytes);
        let len = |part: Option<&[u8]>| part.map(|bytes| bytes.len() as u32);
        self.mark(what, len(control), len(data));
        Ok(())
    }

    /// Publishes what has been filled in at the end of the window as a message with boundaries.
    pub fn mark(&mut self, what: What, control: Option<u32>, data: Option<u32>) {
        let slot = &self.marks[self.marks_tail as usize % MARKS];
        probe::at();
        Marked::write(slot, self.tail, what, control, data);
        probe::at();
        self.marks_tail = self.marks_tail.wrapping_add(1);
        // The mark before its bytes: a reader that sees the bytes sees the mark.
        self.words.tail.0.marks.store(self.marks_tail, Ordering::Release);
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
            let most = self.message_max;
            return Err(Error::new(Errno::Range, format!("a message of {len} bytes exceeds this stream's {most}")));
        }
        if self.count() + len as u64 > self.window.len() {
            self.look()?;
            if self.count() + len as u64 > self.window.len() {
                let most = self.window.len();
                return Err(Error::new(
                    Errno::Nosr,
                    format!("modules send more than the stream's {most} bytes of room"),
                ));
            }
        }
        Ok(())
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

    /// Full above hiwat; no longer full below lowat, or when empty.
    fn note_flow(&mut self) {
        let count = self.count();
        let full = if self.is_full() { count != 0 && count >= self.lowat } else { count > self.hiwat };
        // Relaxed: read by the token's holders, and as a hint by those who wait.
        self.words.flow.0.full.store(u32::from(full), Ordering::Relaxed);
        probe::at();
    }

    /// After a look. An empty lane begins at the window's beginning again, so that a stream whose reader keeps up does not use
    /// all of its window: the same pages stay in use, and in the caches.
    fn rewind(&mut self) {
        self.stride = (2 * self.stride).min(STRIDE_MAX);
        if self.count() == 0 && self.origin != self.tail {
            self.origin = self.tail;
            // Relaxed: published with the bytes. Whoever reads finds nothing before that.
            self.words.tail.0.origin.store(self.origin, Ordering::Relaxed);
            probe::at();
        }
    }

    /// Whether there are not enough marks for the most messages that one call sends.
    fn no_mark_left(&mut self) -> bool {
        self.marks_used() > (MARKS - CUT_MAX) as u64
    }

    /// How many marks lie in the lane, by a new look.
    fn marks_used(&mut self) -> u64 {
        // Acquire pairs with the Release store in `LaneReader::drop_front`: it is done with the mark that is written next.
        self.marks_head = self.words.head.0.marks.load(Ordering::Acquire);
        self.marks_tail.wrapping_sub(self.marks_head)
    }

    /// Reads how far the reader has come, and checks it.
    fn look(&mut self) -> Result<()> {
        // Ours to write as long as we hold the token. Who waits goes by these words.
        let own = &self.words.tail.0;
        if own.bytes.load(Ordering::Relaxed) != self.tail || own.marks.load(Ordering::Relaxed) != self.marks_tail {
            return Err(Error::corrupt("a writer's own position"));
        }
        // Acquire pairs with the Release store in `LaneReader`: it is done with what we overwrite next.
        let head = self.words.head.0.bytes.load(Ordering::Acquire);
        let count = self.tail.wrapping_sub(head);
        if count > self.window.len() || count > self.count() {
            return Err(Error::corrupt("a reader's position"));
        }
        self.head = head;
        Ok(())
    }

    /// Somebody else may have written since: reads everything anew, and forgets a mark whose bytes were never published.
    fn refresh(&mut self) -> Result<()> {
        self.close();
        let before = self.tail;
        self.tail = self.words.tail.0.bytes.load(Ordering::Acquire);
        self.origin = self.words.tail.0.origin.load(Ordering::Relaxed);
        self.head = self.words.head.0.bytes.load(Ordering::Acquire);
        if self.count() > self.window.len() {
            return Err(Error::corrupt("a writer's position"));
        }
        // Our own bytes still stand at the end if nobody has written.
        self.run_open &= self.tail == before;
        self.not_plain = self.not_plain.wrapping_add(self.tail.wrapping_sub(before));
        self.marks_tail = self.words.tail.0.marks.load(Ordering::Acquire);
        if self.marks_used() > MARKS as u64 {
            return Err(Error::corrupt("the number of marks"));
        }
        while self.marks_tail != self.marks_head {
            let last = Marked::read(&self.marks[self.marks_tail.wrapping_sub(1) as usize % MARKS])?;
            if self.tail.wrapping_sub(last.at) as i64 > 0 {
                break;
            }
            // Its writer died between the mark and the bytes.
            self.marks_tail = self.marks_tail.wrapping_sub(1);
            self.words.tail.0.marks.store(self.marks_tail, Ordering::Release);
            probe::at();
        }
        Ok(())
    }
}
