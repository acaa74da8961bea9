//! Sending and receiving without a copy: messages are filled in and read where they lie in shared memory.
//!
//! The bytes are handed out as atomics, because another process may change them at any time; copy them before you rely
//! on their values. No other user can write (or read) at this end while a place is reserved (or borrowed): their calls
//! wait, or fail with `EAGAIN` if they must not wait. So hold it briefly. A forked child's copy of either has no
//! effect.

use std::sync::atomic::{AtomicU8, Ordering};

use super::get::Taken;
use super::handle::Handle;
use super::peeked::{PeekedMessage, ReadSide};
use super::put::check_minpsz;
use super::state::{self, Call};
use crate::error::{Error, Result, Text, fixed};
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::direction::WriteSide;
use crate::process::listeners::{SignalEvents, signal};
use crate::queue::lane::Kept;

/// A place in the stream for a message that is being filled in. Dropping it sends nothing.
#[derive(Debug)]
pub struct WriteGrant<'s> {
    stream: &'s mut Handle,
    /// The writer's side; none once it was released.
    kept: Option<Kept>,
    len: usize,
}

/// A message in place. Dropping it leaves the message in the queue.
#[derive(Debug)]
pub struct ReadGrant<'s> {
    stream: &'s mut Handle,
    /// The reader's side; none once it was released.
    kept: Option<Kept>,
    item: PeekedMessage,
}

impl Handle {
    pub(crate) fn reserve(&mut self, len: usize) -> Result<WriteGrant<'_>> {
        self.attach()?;
        let (minpsz, maxpsz) = self.packet_sizes();
        if len > maxpsz {
            return Err(Error::numbered(Text::DataTooLong, len as u64, maxpsz as u64));
        }
        check_minpsz(len, minpsz)?;
        loop {
            self.check_write()?;
            let kept = self.reserve_now();
            if let Some(kept) = self.remember_failure(kept)? {
                return Ok(WriteGrant { stream: self, kept: Some(kept), len });
            }
            self.wait_or_refuse(0)?;
        }
    }

    /// Takes and keeps the writer's side, if there is room.
    fn reserve_now(&mut self) -> Result<Option<Kept>> {
        let (region, me, _) = self.end.parts();
        let mut side = self.out.begin(me, region)?;
        if !region.policy.lane || !side.chain.is_empty() {
            return Err(fixed!(Inval, "places are reserved in lanes only: not with modules, nor when eager"));
        }
        Ok(if side.lane.has_room()? { Some(Kept::of(side)) } else { None })
    }

    pub(crate) fn borrow(&mut self) -> Result<Option<ReadGrant<'_>>> {
        self.attach()?;
        loop {
            state::check(self.end.words(), Call::Read)?;
            let kept = self.borrow_now();
            if let Some((kept, item)) = self.remember_failure(kept)? {
                return Ok(Some(ReadGrant { stream: self, kept: Some(kept), item }));
            }
            if !self.wait_for_more(1)? {
                return Ok(None);
            }
        }
    }

    /// Takes and keeps the reader's side, if there is a message.
    fn borrow_now(&mut self) -> Result<Option<(Kept, PeekedMessage)>> {
        let options = self.read_options();
        let Handle { back, end, .. } = self;
        let mut side = back.begin_reading(end, options)?;
        match side.front()? {
            Some(item) if item.header.kind == Kind::Data && (item.is_plain() || item.record().is_some()) => {
                Ok(Some((Kept::of(side), item)))
            }
            Some(_) => Err(fixed!(Badmsg, "the message at the front cannot be borrowed")),
            None => Ok(None),
        }
    }
}

impl WriteGrant<'_> {
    /// The place: up to the end of the window, and the rest at its start.
    #[doc = include_str!("../../doc/zero_copy.md")]
    pub fn bytes(&self) -> [&[AtomicU8]; 2] {
        self.kept.as_ref().map_or([&[], &[]], |kept| self.stream.out.writer.place(kept, self.len))
    }

    /// Copies bytes to the place, from its byte `at` on.
    ///
    /// # Panics
    /// If they go beyond its end.
    #[doc = include_str!("../../doc/zero_copy.md")]
    pub fn fill(&mut self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.len, "the place has {} bytes", self.len);
        if let Some(kept) = &self.kept {
            self.stream.out.writer.fill_place(kept, at, bytes);
        }
    }

    /// Sends the message.
    ///
    /// # Errors
    /// `EPIPE` if the other end is gone.
    ///
    /// `EINVAL` in a forked child: the place is its parent's.
    #[doc = include_str!("../../doc/zero_copy.md")]
    pub fn commit(mut self) -> Result<()> {
        self.stream.check_ours()?;
        let Some(mut side) = self.stream.writing_again(&mut self.kept) else { return Ok(()) };
        let header = MessageHeader { whole: true, ..MessageHeader::of(Kind::Data) };
        side.lane.record(header, None, Some(self.len as u32));
        let asleep = side.lane.reader_sleeps();
        drop(side);
        let told = if asleep { self.stream.wake_far_reader(true, false) } else { Ok(()) };
        let end = &self.stream.end;
        signal(&end.region, 1 - end.side, SignalEvents::of_arrival(header));
        told
    }
}

impl Drop for WriteGrant<'_> {
    fn drop(&mut self) {
        drop(self.stream.writing_again(&mut self.kept));
    }
}

impl ReadGrant<'_> {
    /// The bytes: up to the end of the window, and the rest at its start.
    #[doc = include_str!("../../doc/zero_copy.md")]
    pub fn bytes(&self) -> [&[AtomicU8]; 2] {
        let reader = &self.stream.back.reader;
        match (&self.kept, self.item.record()) {
            (Some(kept), Some(marked)) => reader.data_in_place(kept, marked),
            (Some(kept), None) => reader.plain_in_place(kept, usize::MAX),
            (None, _) => [&[], &[]],
        }
    }

    /// A copy of the bytes.
    #[doc = include_str!("../../doc/zero_copy.md")]
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().into_iter().flatten().map(|byte| byte.load(Ordering::Relaxed)).collect()
    }

    /// Takes `count` of the bytes; taking all of a message makes room for others.
    ///
    /// # Errors
    /// `EPROTO` on a broken stream.
    ///
    /// `EINVAL` in a forked child: the message is its parent's.
    #[doc = include_str!("../../doc/zero_copy.md")]
    pub fn consume(mut self, count: usize) -> Result<()> {
        self.stream.check_ours()?;
        let Some(mut side) = self.stream.reading_again(&mut self.kept) else { return Ok(()) };
        let count = count.min(self.item.data.unwrap_or(0));
        let all = count == self.item.data.unwrap_or(0);
        let taken = side.take(&self.item, Taken { control: None, data: Some(count), all });
        drop(side);
        self.stream.after_taking(false);
        taken
    }
}

impl Drop for ReadGrant<'_> {
    fn drop(&mut self) {
        let Some(side) = self.stream.reading_again(&mut self.kept) else { return };
        drop(side);
        // The next call detects the failure again.
        let _ = self.stream.serve_owed_to_reader();
    }
}

impl Handle {
    /// A forked child has only a copy of a place or a message: its parent has both.
    fn check_ours(&self) -> Result<()> {
        match self.end.membership_is_ours() {
            true => Ok(()),
            false => Err(fixed!(Inval, "it was reserved or borrowed by the process that forked this one")),
        }
    }

    /// The guard of a side that was kept, unless a parent has it.
    fn writing_again(&mut self, kept: &mut Option<Kept>) -> Option<WriteSide<'_>> {
        let kept = kept.take().filter(|_| self.end.membership_is_ours())?;
        Some(self.out.resume_writing(self.end.me(), kept))
    }

    fn reading_again(&mut self, kept: &mut Option<Kept>) -> Option<ReadSide<'_>> {
        let kept = kept.take().filter(|_| self.end.membership_is_ours())?;
        let options = self.read_options();
        let Handle { back, end, .. } = self;
        Some(back.resume_reading(end, options, kept))
    }
}
