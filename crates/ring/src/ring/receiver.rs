//! The half that reads.

#[cfg(not(loom))]
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use headwater_shm::sync::Ordering;

use super::{Standing, piece};
use crate::Region;
use crate::error::Error;
use crate::layout::low_water;
use crate::owner;
use crate::parker::{self, ASLEEP, AWAKE, CLOSED};
use crate::wait::{Counters, Wait, Waited, Waiter, note_cpu};

/// Reads a byte stream. One per ring; `&mut` keeps it to one thread at a time.
#[derive(Debug)]
pub struct Receiver {
    /// Bytes taken so far: what the region's `head` says, which we never read back.
    head: u64,
    /// Bytes published when we last looked. Equal to `head` while the half is not attached or is corrupt, which sends
    /// every operation through [`Receiver::read_slowly`].
    limit: u64,
    /// Longest copy whose room is given back at once, bytes.
    piece: usize,
    region: Region,
    standing: Standing,
    /// The sender's process has ended without closing.
    sender_ended: bool,
    waiter: Waiter,
}

impl Receiver {
    pub(super) fn over(region: Region, wait: Wait) -> Receiver {
        Receiver {
            head: 0,
            limit: 0,
            piece: piece(region.window()),
            region,
            standing: Standing::Unattached,
            sender_ended: false,
            waiter: Waiter::new(wait),
        }
    }

    /// The receiving half of the ring behind a descriptor that came from another process, attached.
    ///
    /// Errors: as [`Sender::open`](crate::Sender::open).
    #[cfg(not(loom))]
    pub fn open(ring: OwnedFd, wait: Wait) -> Result<Receiver, Error> {
        let mut receiver = Receiver::over(Region::open(ring)?, wait);
        receiver.attach()?;
        Ok(receiver)
    }

    /// Makes the calling process the owner of this half. As [`Sender::attach`](crate::Sender::attach).
    pub fn attach(&mut self) -> Result<(), Error> {
        match self.standing {
            Standing::Attached { .. } => return Ok(()),
            Standing::Corrupt { why, .. } => return Err(Error::Corrupt(why)),
            Standing::Unattached => {}
        }
        // First the fence, then the claim: a process that is seen as owner is also reached by the other end's barriers.
        self.region.fence().join()?;
        self.region.populate()?;
        let words = self.region.words();
        let id = owner::claim(&words.receiver.0)?;
        note_cpu(&words.receiver.0);
        self.standing = Standing::Attached { pid: id.pid() };
        Ok(())
    }

    /// Reads what is there, up to the length of `buffer`; returns how many bytes, 0 if nothing is there now (or
    /// `buffer` is empty).
    ///
    /// Errors: [`Error::Closed`] at the end of the stream, when all that was published has been read. Else as
    /// [`Receiver::attach`], or [`Error::Corrupt`].
    #[inline]
    pub fn try_read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        // The subtraction sends the empty read down the slow path as well: one comparison for both.
        if (buffer.len() as u64).wrapping_sub(1) < self.limit - self.head && buffer.len() <= self.piece {
            self.take(buffer)?;
            return Ok(buffer.len());
        }
        self.read_slowly(buffer)
    }

    /// Reads at least one byte, waiting for it if need be; returns how many. 0 is the end of the stream (or an empty
    /// `buffer`).
    ///
    /// Errors: as [`Receiver::try_read`], without [`Error::Closed`].
    #[inline]
    pub fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        loop {
            match self.try_read(buffer) {
                Ok(0) if !buffer.is_empty() => self.wait_for_bytes()?,
                Err(Error::Closed) => return Ok(0),
                done => return done,
            }
        }
    }

    /// Fills the whole buffer, waiting as often as needed.
    ///
    /// Errors: [`Error::UnexpectedEnd`] if the stream ends before, else as [`Receiver::try_read`]; then part of the
    /// buffer may have been filled.
    #[inline]
    pub fn read_exact(&mut self, mut buffer: &mut [u8]) -> Result<(), Error> {
        while !buffer.is_empty() {
            match self.read_some(buffer)? {
                0 => return Err(Error::UnexpectedEnd),
                read => buffer = &mut buffer[read..],
            }
        }
        Ok(())
    }

    /// How often this half woke, slept, spun and yielded.
    pub fn counters(&self) -> Counters {
        self.waiter.counters
    }

    /// Copies out, gives the room back, and looks whether the sender sleeps. The caller has made sure of the bytes.
    #[inline(always)]
    fn take(&mut self, buffer: &mut [u8]) -> Result<(), Error> {
        self.region.copy_out(self.head, buffer);
        self.head += buffer.len() as u64;
        let words = self.region.words();
        // Release pairs with the Acquire load of `head` in `Sender::look`.
        words.head.0.store(self.head, Ordering::Release);
        self.region.fence().light();
        if parker::status(&words.sender.0) != AWAKE {
            return self.attend_sender();
        }
        Ok(())
    }

    /// The sender sleeps, has closed, or has written an impossible status.
    #[cold]
    #[inline(never)]
    fn attend_sender(&mut self) -> Result<(), Error> {
        let words = self.region.words();
        match parker::status(&words.sender.0) {
            // A closed sender has left bytes to read; the end of the stream is for `look` to find.
            AWAKE | CLOSED => Ok(()),
            ASLEEP => {
                // Relaxed: the sender sleeps, so `tail` stands still; and it decides by the same rule.
                let used = words.tail.0.load(Ordering::Relaxed).wrapping_sub(self.head);
                if used <= low_water(self.region.window()) {
                    self.waiter.counters.wakes += u64::from(parker::wake(&words.sender.0));
                }
                Ok(())
            }
            _ => Err(self.corrupt("sender's status")),
        }
    }

    /// Every read that is not one copy of known bytes: the first use, too few bytes, long reads, a corrupt region.
    #[inline(never)]
    fn read_slowly(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        if self.limit - self.head < buffer.len() as u64 || buffer.is_empty() {
            self.look()?;
        }
        // What arrives while we copy waits for the next call: to look again for a few bytes costs more than they bring.
        let there = buffer.len().min((self.limit - self.head) as usize);
        for piece in buffer[..there].chunks_mut(self.piece) {
            self.take(piece)?;
        }
        Ok(there)
    }

    /// Reads how far the sender has come, and checks it.
    fn look(&mut self) -> Result<(), Error> {
        self.attach()?;
        let words = self.region.words();
        // The status before `tail`: a sender that is seen as closed has published its last.
        let closed = self.sender_ended || parker::status(&words.sender.0) == CLOSED;
        // Acquire pairs with the Release store in `Sender::publish`: the bytes are there.
        let tail = words.tail.0.load(Ordering::Acquire);
        let there = tail.wrapping_sub(self.head);
        if there > self.region.window() {
            return Err(self.corrupt("tail outside the window"));
        }
        if there < self.limit - self.head {
            return Err(self.corrupt("tail went back"));
        }
        self.limit = tail;
        if there == 0 && closed { Err(Error::Closed) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn wait_for_bytes(&mut self) -> Result<(), Error> {
        let words = self.region.words();
        let head = self.head;
        let ready = || words.tail.0.load(Ordering::Relaxed) != head || parker::status(&words.sender.0) == CLOSED;
        let waited = self.waiter.wait(&words.receiver.0, &words.sender.0, self.region.fence(), ready)?;
        self.sender_ended = waited == Waited::PeerEnded;
        Ok(())
    }

    #[cold]
    fn corrupt(&mut self, why: &'static str) -> Error {
        if let Standing::Attached { pid } = self.standing {
            self.standing = Standing::Corrupt { pid, why };
        }
        self.limit = self.head;
        Error::Corrupt(why)
    }
}

impl Drop for Receiver {
    /// Closes the stream if this process has attached the half: the sender's next write fails.
    fn drop(&mut self) {
        if self.standing.is_ours() {
            let words = self.region.words();
            parker::close(&words.receiver.0, &words.sender.0, self.region.fence());
        }
    }
}

#[cfg(not(loom))]
impl AsFd for Receiver {
    /// The region's memfd, from which another process can [`open`](Receiver::open) a half.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.region.as_fd()
    }
}
