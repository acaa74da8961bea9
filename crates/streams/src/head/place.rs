//! Sending and receiving without a copy: messages are filled in and read where they lie in shared memory.
//!
//! The bytes are handed out as atomics, because another process may change them at any time; what one means to trust one
//! copies first. Nobody else can write (or read) at this end while a place is reserved (or borrowed): their calls wait, or
//! fail with `EAGAIN` if they are not to wait. So be short. A forked child's copy of either is nothing.

use std::sync::atomic::{AtomicU8, Ordering};

use super::get::Taken;
use super::handle::Handle;
use super::signals::{SignalEvents, signal};
use super::state::{self, Call};
use super::way::Pass;
use crate::error::{Errno, Error, Result};
use crate::message::kind::{Kind, What};

/// A place in the stream for a message that is being filled in. Dropped, it was never there.
#[derive(Debug)]
pub struct Reserved<'s> {
    stream: &'s mut Handle,
    pass: Pass,
    len: usize,
}

/// A message where it lies. Dropped, it is still there.
#[derive(Debug)]
pub struct Borrowed<'s> {
    stream: &'s mut Handle,
    pass: Pass,
    item: super::front::Item,
}

impl Handle {
    /// Reserves a place for a message of `len` bytes of data, waiting for room if need be.
    ///
    /// # Errors
    /// `ERANGE` beyond maxpsz; `EINVAL` on a stream without lanes, or with modules, which take messages as a whole; else
    /// as [`Handle::write`].
    pub fn reserve(&mut self, len: usize) -> Result<Reserved<'_>> {
        self.attach()?;
        let maxpsz = self.maxpsz();
        if len > maxpsz {
            return Err(Error::new(Errno::Range, format!("a message of {len} bytes exceeds maxpsz {maxpsz}")));
        }
        loop {
            self.check_write()?;
            let (region, me, _) = self.end.parts();
            let pass = self.out.begin(me, region)?;
            if !region.policy.lane || !self.out.chain.is_empty() {
                self.out.end(me, pass);
                return Err(Error::new(
                    Errno::Inval,
                    "places are reserved in lanes only: not with modules, nor when eager",
                ));
            }
            match self.out.writer.has_room() {
                Ok(true) => return Ok(Reserved { stream: self, pass, len }),
                Ok(false) => self.out.end(me, pass),
                Err(error) => {
                    self.out.end(me, pass);
                    return self.settle(Err(error));
                }
            }
            self.wait_or_refuse(0)?;
        }
    }

    /// Borrows the data of the message at the front, waiting for one if nothing is there. None at the end of the stream.
    ///
    /// # Errors
    /// `EBADMSG` for a message that does not lie in a lane, or has a control part; else as [`Handle::read`].
    pub fn borrow(&mut self) -> Result<Option<Borrowed<'_>>> {
        self.attach()?;
        loop {
            state::check(self.end.words(), Call::Read)?;
            let options = self.read_options();
            let (region, me, _) = self.end.parts();
            let pass = self.back.begin_reading(me, region)?;
            match self.back.front(me) {
                Ok(Some(item)) if item.what.kind == Kind::Data && (item.is_plain() || item.marked().is_some()) => {
                    return Ok(Some(Borrowed { stream: self, pass, item }));
                }
                Ok(None) => self.back.end_reading(me, pass, options),
                Ok(Some(_)) => {
                    self.back.end_reading(me, pass, options);
                    return Err(Error::new(Errno::Badmsg, "the message at the front cannot be borrowed"));
                }
                Err(error) => {
                    self.back.end_reading(me, pass, options);
                    return self.settle(Err(error));
                }
            }
            if !self.wait_for_more(1)? {
                return Ok(None);
            }
        }
    }
}

impl Reserved<'_> {
    /// The place: up to the end of the window, and what goes on at its start.
    pub fn bytes(&self) -> [&[AtomicU8]; 2] {
        self.stream.out.writer.place(self.len)
    }

    /// Copies bytes to the place, from its byte `at` on.
    ///
    /// # Panics
    /// If they go beyond its end.
    pub fn fill(&mut self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.len, "the place has {} bytes", self.len);
        self.stream.out.writer.fill(at, bytes);
    }

    /// Sends the message.
    ///
    /// # Errors
    /// `EPIPE` if the other end is gone.
    ///
    /// `EINVAL` in a forked child: the place is its parent's.
    pub fn commit(self) -> Result<()> {
        self.stream.check_ours()?;
        let what = What { whole: true, ..What::of(Kind::Data) };
        self.stream.out.writer.mark(what, None, Some(self.len as u32));
        let asleep = self.stream.out.writer.reader_sleeps();
        let Reserved { stream, pass, .. } = &mut *std::mem::ManuallyDrop::new(self);
        stream.end_writing(*pass);
        let told = if asleep { stream.attend_reader(true, false) } else { Ok(()) };
        signal(&stream.end.region, 1 - stream.end.side, SignalEvents::of_arrival(what));
        told
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.stream.end_writing(self.pass);
    }
}

impl Borrowed<'_> {
    /// The bytes: up to the end of the window, and what goes on at its start.
    pub fn bytes(&self) -> [&[AtomicU8]; 2] {
        let reader = &self.stream.back.reader;
        match self.item.marked() {
            Some(marked) => reader.data_in_place(marked),
            None => reader.plain_in_place(usize::MAX),
        }
    }

    /// A copy of the bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().into_iter().flatten().map(|byte| byte.load(Ordering::Relaxed)).collect()
    }

    /// Takes so many of the bytes; all of a message makes room for others.
    ///
    /// # Errors
    /// `EPROTO` on a broken stream.
    ///
    /// `EINVAL` in a forked child: the message is its parent's.
    pub fn consume(self, count: usize) -> Result<()> {
        self.stream.check_ours()?;
        let this = &mut *std::mem::ManuallyDrop::new(self);
        let (_, me, _) = this.stream.end.parts();
        let count = count.min(this.item.data.unwrap_or(0));
        let all = count == this.item.data.unwrap_or(0);
        let taken = this.stream.back.take(me, &this.item, Taken { control: None, data: Some(count), all });
        this.stream.end_borrowing(this.pass);
        this.stream.after_taking(false);
        taken.map(|_| ())
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.stream.end_borrowing(self.pass);
        // A failure is found again by the next call.
        let _ = self.stream.serve_owed_to_reader();
    }
}

impl Handle {
    /// What a forked child has of a place or of a message is a copy: its parent has both.
    fn check_ours(&self) -> Result<()> {
        match self.end.membership_is_ours() {
            true => Ok(()),
            false => Err(Error::new(Errno::Inval, "it was reserved or borrowed by the process that forked this one")),
        }
    }

    fn end_writing(&mut self, pass: Pass) {
        if !self.end.membership_is_ours() {
            return;
        }
        let (_, me, _) = self.end.parts();
        self.out.end(me, pass);
    }

    fn end_borrowing(&mut self, pass: Pass) {
        if !self.end.membership_is_ours() {
            return;
        }
        let options = self.read_options();
        let (_, me, _) = self.end.parts();
        self.back.end_reading(me, pass, options);
    }
}
