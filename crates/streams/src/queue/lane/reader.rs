//! The reading side of a lane.

use std::ops::{Deref, DerefMut};
#[cfg(not(loom))]
use std::sync::atomic::AtomicU8;

use headwater_shm::sync::{Fence, Ordering, compiler_fence};
use headwater_shm::{Hold, Membership, Placed, Token, Window, probe};

#[cfg(not(loom))]
use super::Kept;
use super::writer::Quick;
use super::{Marked, Part, there};
use crate::error::{Error, Result};
use crate::layout::{LaneWords, Mark};
use crate::limits::{MARKS, PIECE};
use crate::message::kind::Kind;

/// One member's view of a lane that it reads.
#[derive(Debug)]
pub(crate) struct LaneReader {
    /// Bytes taken, as long as the token is ours.
    head: u64,
    /// Up to here a quick read may go: `plain_until` when the quick way is open, else `head`.
    quick_until: u64,
    window: Window,
    /// The position that lies at the window's beginning.
    origin: u64,
    words: Placed<LaneWords>,
    fence: Fence,
    token: Token,
    marks: Placed<[Mark]>,
    marks_head: u64,
    /// Up to here plain bytes are known to lie. At most `tail`.
    plain_until: u64,
    /// Bytes and marks published, as last seen.
    tail: u64,
    marks_tail: u64,
    /// The mark at `marks_head`, if it was seen.
    next: Option<Marked>,
    /// Bytes that the last look has found.
    found: u64,
    /// Up to where the window was seen in use; see [`LaneReader::reach`].
    reach: u64,
}

/// What stands at the front of a lane.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Front {
    /// Plain bytes, at least as many as this.
    Plain(u64),
    /// A message with boundaries.
    Marked(Marked),
}

impl LaneReader {
    pub fn new(
        words: Placed<LaneWords>,
        marks: Placed<[Mark]>,
        window: Window,
        fence: Fence,
        index: u32,
    ) -> LaneReader {
        let token = Token::new(words.part(|words| &words.reader_token.0), index);
        LaneReader {
            head: 0,
            plain_until: 0,
            window,
            origin: 0,
            words,
            fence,
            token,
            marks,
            marks_head: 0,
            tail: 0,
            marks_tail: 0,
            next: None,
            quick_until: 0,
            found: 0,
            reach: 0,
        }
    }

    /// Fills the buffer with plain data if so much is known to be there, and nothing has changed since the last time.
    #[inline(always)]
    pub fn quick(&mut self, me: &Membership, buffer: &mut [u8]) -> Quick {
        // The subtraction sends the empty read down the slow way as well: one comparison for both.
        if (buffer.len() as u64).wrapping_sub(1) < self.quick_until.wrapping_sub(self.head)
            && buffer.len() <= PIECE
            && self.token.enter(me)
        {
            let mut reading = ReaderGuard { lane: self, me };
            reading.take(buffer);
            // A token is biased only where the light fence is the compiler's.
            compiler_fence(Ordering::SeqCst);
            let asleep = reading.words.writer.0.sleep.load(Ordering::Relaxed) != 0;
            return if asleep { Quick::Attend } else { Quick::Done };
        }
        Quick::Refused
    }

    /// Looks for data if none is known to be there, and then does what [`LaneReader::quick`] does. Opens the quick way if
    /// `first` says that the lane's data come before all else: it is asked after the look, since what was sent before the
    /// data that the look finds is then to be seen.
    pub fn look_and_take(&mut self, me: &Membership, buffer: &mut [u8], first: impl FnOnce() -> bool) -> Result<Quick> {
        if buffer.len().wrapping_sub(1) >= PIECE || !self.token.enter(me) {
            return Ok(Quick::Refused);
        }
        let mut reading = ReaderGuard { lane: self, me };
        let looked = reading.find();
        reading.open(looked.is_ok() && first());
        drop(reading);
        looked?;
        Ok(self.quick(me, buffer))
    }

    /// Enters if the token is ours by its bias and nothing has changed; else takes it, and reads anew what others may have
    /// changed. The quick way is then closed until [`ReaderGuard::open`].
    #[inline]
    pub fn enter<'l>(&'l mut self, me: &'l Membership) -> Result<(ReaderGuard<'l>, Hold)> {
        if self.token.enter(me) {
            return Ok((ReaderGuard { lane: self, me }, Hold::Kept));
        }
        self.hold(me)
    }

    /// Takes the token as a lock; reads anew what others may have changed. Closes the quick way until [`ReaderGuard::open`].
    pub fn hold<'l>(&'l mut self, me: &'l Membership) -> Result<(ReaderGuard<'l>, Hold)> {
        let hold = self.token.hold(me)?;
        self.close();
        let mut reading = ReaderGuard { lane: self, me };
        if hold == Hold::Fresh
            && let Err(error) = reading.refresh()
        {
            reading.doubt();
            return Err(error);
        }
        Ok((reading, hold))
    }

    /// The guard again.
    #[cfg(not(loom))]
    pub fn resume<'l>(&'l mut self, me: &'l Membership, _: Kept) -> ReaderGuard<'l> {
        ReaderGuard { lane: self, me }
    }

    /// What is left of the data part, in place.
    #[cfg(not(loom))]
    pub fn data_in_place(&self, _: &Kept, message: &Marked) -> [&[AtomicU8]; 2] {
        let part = message.data.unwrap_or(Part { len: 0, taken: 0, gone: true });
        self.window.in_place(self.place(message.data_at()).wrapping_add(u64::from(part.taken)), part.left())
    }

    /// Plain bytes in place, as many as are known to be there and at most `most`.
    #[cfg(not(loom))]
    pub fn plain_in_place(&self, _: &Kept, most: usize) -> [&[AtomicU8]; 2] {
        self.window.in_place(self.place(self.head), most.min(self.plain_until.wrapping_sub(self.head) as usize))
    }

    /// Sets notices for whoever has the reader's token now or next.
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

    /// Closes the quick way, so that the next read looks at everything.
    pub fn close(&mut self) {
        self.quick_until = self.head;
    }

    /// Bytes in the lane, as far as is known, and whether it is certain that there are no more.
    pub fn known(&self) -> u64 {
        self.tail.wrapping_sub(self.head)
    }

    /// How many bytes of the window were seen in use, from its beginning, since the last [`LaneReader::forget_reach`].
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
        u64::from(self.words.flow.0.hiwat.load(Ordering::Relaxed))
    }

    /// A look at the lane from without the token: whether anything lies in it. For waiting; it changes nothing.
    pub fn bytes_there(&self) -> u64 {
        self.words.tail.0.bytes.load(Ordering::Relaxed).wrapping_sub(self.words.head.0.bytes.load(Ordering::Relaxed))
    }

    /// Whether somebody on the writing side sleeps, or is gone. After a take.
    #[inline(always)]
    pub fn writer_sleeps(&self) -> bool {
        self.fence.light();
        self.words.writer.0.sleep.load(Ordering::Relaxed) != 0
    }

    /// Whether a writer that waits may go on: below lowat, or empty.
    pub fn is_low(&self) -> bool {
        // The writer sleeps, so its position stands still.
        let count = self.bytes_there();
        count == 0 || count < u64::from(self.words.flow.0.lowat.load(Ordering::Relaxed))
    }

    /// Where a position lies in the window.
    #[inline(always)]
    fn place(&self, position: u64) -> u64 {
        position.wrapping_sub(self.origin)
    }
}

/// The reading side of a lane, under its token, which is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct ReaderGuard<'l> {
    lane: &'l mut LaneReader,
    me: &'l Membership,
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
        self.lane.token.leave(self.me);
    }
}

impl ReaderGuard<'_> {
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

    /// Opens the quick way for the plain bytes that are known to be there, or closes it.
    pub fn open(&mut self, open: bool) {
        self.quick_until = if open { self.plain_until } else { self.head };
    }

    /// Looks for data if none is known to be there.
    pub fn find(&mut self) -> Result<()> {
        if self.head == self.tail { self.look() } else { Ok(()) }
    }

    /// What stands at the front, as far as [`ReaderGuard::find`] has found it.
    pub fn front(&mut self) -> Result<Option<Front>> {
        if self.head == self.tail {
            // Nobody else writes it. Who waits goes by it, and would look again for ever.
            if self.words.head.0.bytes.load(Ordering::Relaxed) != self.head {
                return Err(Error::corrupt("a reader's own position"));
            }
            return Ok(None);
        }
        match self.plain_until.wrapping_sub(self.head) {
            0 => match self.next {
                Some(message) => Ok(Some(Front::Marked(message))),
                // A look at it has failed before.
                None => Err(Error::corrupt("the mark at the front")),
            },
            plain => Ok(Some(Front::Plain(plain))),
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
    pub fn copy_control(&self, message: &Marked, buffer: &mut [u8]) -> usize {
        self.copy_part(message.at, message.control, buffer)
    }

    /// Copies what is left of the data part, as far as it fits.
    pub fn copy_data(&self, message: &Marked, buffer: &mut [u8]) -> usize {
        self.copy_part(message.data_at(), message.data, buffer)
    }

    /// Gives up plain bytes that were read in place.
    pub fn drop_plain(&mut self, count: usize) {
        let count = (count as u64).min(self.plain_until.wrapping_sub(self.head));
        self.advance_to(self.head.wrapping_add(count));
    }

    /// Takes so many more bytes of the parts of the message at the front, a part with its last byte, and nothing of a part
    /// that is None; the message goes when no part of it is left, or `all` is given up.
    pub fn take_parts(
        &mut self,
        message: &Marked,
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
        let slot = &self.marks[self.marks_head as usize % MARKS];
        // Before the position: whoever comes after our death finds the position from here.
        slot.taken.store(taken(rest.control) | taken(rest.data) << 32, Ordering::Release);
        probe::at();
        self.next = Some(rest);
        let given_back = rest.given_back();
        if given_back != rest.at {
            self.advance_to(given_back);
            self.plain_until = self.head;
        }
        Ok(())
    }

    /// Takes everything that is there, unread.
    pub fn flush(&mut self) -> Result<()> {
        self.look()?;
        // Mark by mark: the last ones may be of bytes that are not published yet.
        while self.next.is_some() {
            self.drop_front()?;
        }
        self.advance_to(self.tail);
        self.plain_until = self.head;
        Ok(())
    }

    /// Messages in the lane as last seen, where plain bytes before each mark and at the end count as one. Signals are none.
    pub fn messages(&self) -> usize {
        let (mut count, mut signals) = (0, 0);
        let mut at = self.head;
        let mut mark = self.marks_head;
        while at != self.tail {
            count += 1;
            let next = (mark != self.marks_tail)
                .then(|| Marked::read(&self.marks[mark as usize % MARKS]))
                .and_then(Result::ok);
            match next {
                // Inside, or at its beginning: the message itself.
                Some(message) if message.at.wrapping_sub(at) as i64 <= 0 => {
                    signals += usize::from(message.what.kind == Kind::Signal);
                    at = message.end();
                    mark = mark.wrapping_add(1);
                }
                Some(message) if message.at.wrapping_sub(at) < self.tail.wrapping_sub(at) => at = message.at,
                _ => at = self.tail,
            }
            if count > MARKS * 2 {
                break;
            }
        }
        count - signals
    }

    /// Reads how far the writer has come.
    pub fn look(&mut self) -> Result<()> {
        // Ours to write as long as we hold the token. Who waits goes by these words.
        let own = &self.words.head.0;
        if own.bytes.load(Ordering::Relaxed) != self.head || own.marks.load(Ordering::Relaxed) != self.marks_head {
            return Err(Error::corrupt("a reader's own position"));
        }
        // Acquire pairs with the Release stores of the writer: bytes and marks are there.
        let tail = self.words.tail.0.bytes.load(Ordering::Acquire);
        let count = tail.wrapping_sub(self.head);
        if count > self.window.len() || count < self.known() {
            return Err(Error::corrupt("a writer's position"));
        }
        self.found = tail.wrapping_sub(self.tail);
        self.tail = tail;
        // Not older than the bytes that were found, and not newer: it changes only when we have taken all of them.
        self.origin = self.words.tail.0.origin.load(Ordering::Relaxed);
        self.reach = self.reach.max(self.place(tail));
        self.marks_tail = self.words.tail.0.marks.load(Ordering::Acquire);
        if self.marks_tail.wrapping_sub(self.marks_head) > MARKS as u64 {
            return Err(Error::corrupt("the number of marks"));
        }
        self.find_plain()
    }

    #[inline(always)]
    fn take(&mut self, buffer: &mut [u8]) {
        self.window.copy_out(self.place(self.head), buffer);
        probe::at();
        self.publish_head(self.head.wrapping_add(buffer.len() as u64));
    }

    /// Gives room back up to a position. The quick way is closed until [`ReaderGuard::open`]: what stands there next is looked
    /// at.
    fn advance_to(&mut self, head: u64) {
        self.quick_until = head;
        self.publish_head(head);
    }

    #[inline(always)]
    fn publish_head(&mut self, head: u64) {
        self.head = head;
        // Release pairs with the Acquire load in `WriterGuard::look`: we are done with these bytes.
        self.words.head.0.bytes.store(head, Ordering::Release);
        probe::at();
    }

    fn drop_front(&mut self) -> Result<()> {
        let Some(message) = self.next.take() else { return Ok(()) };
        self.advance_to(message.end());
        self.marks_head = self.marks_head.wrapping_add(1);
        // After the position: a mark that is behind the position is skipped by whoever comes after our death.
        self.words.head.0.marks.store(self.marks_head, Ordering::Release);
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
        // Nothing, until the mark is found good.
        self.plain_until = self.head;
        if self.next.is_none() && self.marks_head != self.marks_tail {
            let message = Marked::read(&self.marks[self.marks_head as usize % MARKS])?;
            let known = self.known();
            let begins = message.at.wrapping_sub(self.head);
            // A mark whose bytes are not published yet is none. One that we have taken a part of begins before us.
            let in_part = message.given_back() == self.head && message.given_back() != message.at;
            if in_part || begins < known {
                if message.end().wrapping_sub(self.head).wrapping_sub(1) >= known {
                    return Err(Error::corrupt("a message is longer than what was published"));
                }
                self.next = Some(message);
            } else if begins > self.window.len() {
                return Err(Error::corrupt("a message's position"));
            }
        }
        self.plain_until = match self.next {
            Some(message) if message.at.wrapping_sub(self.head) < self.known() => message.at,
            Some(_) => self.head,
            None => self.tail,
        };
        Ok(())
    }

    /// Somebody else may have read since: reads everything anew, from what is certain even after a death.
    fn refresh(&mut self) -> Result<()> {
        self.next = None;
        self.head = self.words.head.0.bytes.load(Ordering::Acquire);
        self.close();
        self.tail = self.head;
        self.marks_head = self.words.head.0.marks.load(Ordering::Acquire);
        self.plain_until = self.head;
        self.marks_tail = self.words.tail.0.marks.load(Ordering::Acquire);
        if self.marks_tail.wrapping_sub(self.marks_head) > MARKS as u64 {
            return Err(Error::corrupt("the number of marks"));
        }
        let tail = self.words.tail.0.bytes.load(Ordering::Acquire);
        if tail.wrapping_sub(self.head) > self.window.len() {
            return Err(Error::corrupt("a writer's position"));
        }
        while self.marks_head != self.marks_tail {
            let message = Marked::read(&self.marks[self.marks_head as usize % MARKS])?;
            let behind = self.head.wrapping_sub(message.end()) <= self.window.len();
            if !behind {
                // A reader that died between the two stores has taken more than its position says.
                let given_back = message.given_back();
                if given_back != message.at && given_back.wrapping_sub(self.head) < self.window.len() {
                    self.advance_to(given_back);
                    self.tail = given_back;
                    self.plain_until = given_back;
                }
                break;
            }
            self.marks_head = self.marks_head.wrapping_add(1);
            self.words.head.0.marks.store(self.marks_head, Ordering::Release);
            probe::at();
        }
        self.look()
    }
}
