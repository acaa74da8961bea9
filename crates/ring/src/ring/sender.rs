//! The half that writes.

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

/// Writes a byte stream. One per ring; `&mut` keeps it to one thread at a time.
#[derive(Debug)]
pub struct Sender {
    /// Bytes published so far: what the region's `tail` says, which we never read back.
    tail: u64,
    /// `tail` may rise to here before we must look at the receiver's index again. Equal to `tail` while the half is not
    /// attached or is corrupt, which sends every operation through [`Sender::write_slowly`].
    limit: u64,
    /// Longest copy that is published at once, bytes.
    piece: usize,
    region: Region,
    standing: Standing,
    /// The receiver's process has ended without closing.
    receiver_ended: bool,
    waiter: Waiter,
}

impl Sender {
    pub(super) fn over(region: Region, wait: Wait) -> Sender {
        Sender {
            tail: 0,
            limit: 0,
            piece: piece(region.window()),
            region,
            standing: Standing::Unattached,
            receiver_ended: false,
            waiter: Waiter::new(wait),
        }
    }

    /// The sending half of the ring behind a descriptor that came from another process, attached.
    ///
    /// Errors: [`Error::Corrupt`] or [`Error::System`] for a descriptor that is no ring, else as [`Sender::attach`].
    #[cfg(not(loom))]
    pub fn open(ring: OwnedFd, wait: Wait) -> Result<Sender, Error> {
        let mut sender = Sender::over(Region::open(ring)?, wait);
        sender.attach()?;
        Ok(sender)
    }

    /// Makes the calling process the owner of this half and brings its pages in. First use does it too; call it before
    /// to have it out of the way, and so that the receiver notices our end from now on. Does nothing the second time.
    ///
    /// Errors: [`Error::InUse`] if another half has attached, [`Error::System`] with `Unsupported` if the creator chose
    /// the asymmetric fence and this process cannot join it.
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
        let id = owner::claim(&words.sender.0)?;
        note_cpu(&words.sender.0);
        self.standing = Standing::Attached { pid: id.pid() };
        Ok(())
    }

    /// Writes what fits now, the whole if it does; returns how many bytes, 0 if the ring is full (or `bytes` empty).
    ///
    /// Errors: [`Error::Closed`] when the receiver is gone: none of these bytes will be read. Else as
    /// [`Sender::attach`], or [`Error::Corrupt`].
    #[inline]
    pub fn try_write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        // The subtraction sends the empty write down the slow path as well: one comparison for both.
        if (bytes.len() as u64).wrapping_sub(1) < self.limit - self.tail && bytes.len() <= self.piece {
            self.publish(bytes)?;
            return Ok(bytes.len());
        }
        self.write_slowly(bytes)
    }

    /// Writes all bytes, waiting for room as often as needed.
    ///
    /// Errors: as [`Sender::try_write`]; then part of the bytes may have been written.
    #[inline]
    pub fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            match self.try_write(bytes)? {
                0 => self.wait_for_room()?,
                written => bytes = &bytes[written..],
            }
        }
        Ok(())
    }

    /// How often this half woke, slept, spun and yielded.
    pub fn counters(&self) -> Counters {
        self.waiter.counters
    }

    /// Copies in, publishes, and looks whether the receiver sleeps. The caller has made sure of the room.
    #[inline(always)]
    fn publish(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.region.copy_in(self.tail, bytes);
        self.tail += bytes.len() as u64;
        let words = self.region.words();
        // Release pairs with the Acquire load of `tail` in `Receiver::look`.
        words.tail.0.store(self.tail, Ordering::Release);
        self.region.fence().light();
        if parker::status(&words.receiver.0) != AWAKE {
            return self.attend_receiver();
        }
        Ok(())
    }

    /// The receiver sleeps, has closed, or has written an impossible status.
    #[cold]
    #[inline(never)]
    fn attend_receiver(&mut self) -> Result<(), Error> {
        let receiver = &self.region.words().receiver.0;
        match parker::status(receiver) {
            AWAKE => Ok(()),
            ASLEEP => {
                self.waiter.counters.wakes += u64::from(parker::wake(receiver));
                Ok(())
            }
            CLOSED => {
                self.limit = self.tail;
                Err(Error::Closed)
            }
            _ => Err(self.corrupt("receiver's status")),
        }
    }

    /// Every write that is not one copy into known room: the first use, too little room, long messages, a corrupt
    /// region.
    #[inline(never)]
    fn write_slowly(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        if self.limit - self.tail < bytes.len() as u64 || bytes.is_empty() {
            self.look()?;
        }
        let fits = bytes.len().min((self.limit - self.tail) as usize);
        for piece in bytes[..fits].chunks(self.piece) {
            self.publish(piece)?;
        }
        Ok(fits)
    }

    /// Reads how far the receiver has come, and checks it.
    fn look(&mut self) -> Result<(), Error> {
        self.attach()?;
        let words = self.region.words();
        if self.receiver_ended || parker::status(&words.receiver.0) == CLOSED {
            self.limit = self.tail;
            return Err(Error::Closed);
        }
        // Acquire pairs with the Release store in `Receiver::take`: the receiver is done with what we overwrite next.
        let head = words.head.0.load(Ordering::Acquire);
        let window = self.region.window();
        if self.tail.wrapping_sub(head) > window {
            return Err(self.corrupt("head outside the window"));
        }
        let limit = head.wrapping_add(window);
        // Both limits are at most a window above `tail`; the receiver never takes room back.
        if limit.wrapping_sub(self.tail) < self.limit - self.tail {
            return Err(self.corrupt("head went back"));
        }
        self.limit = limit;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn wait_for_room(&mut self) -> Result<(), Error> {
        let words = self.region.words();
        let (tail, low) = (self.tail, low_water(self.region.window()));
        // The same rule by which `Receiver::attend_sender` decides to wake us.
        let ready = || {
            tail.wrapping_sub(words.head.0.load(Ordering::Relaxed)) <= low
                || parker::status(&words.receiver.0) == CLOSED
        };
        let waited = self.waiter.wait(&words.sender.0, &words.receiver.0, self.region.fence(), ready)?;
        self.receiver_ended = waited == Waited::PeerEnded;
        Ok(())
    }

    #[cold]
    fn corrupt(&mut self, why: &'static str) -> Error {
        if let Standing::Attached { pid } = self.standing {
            self.standing = Standing::Corrupt { pid, why };
        }
        self.limit = self.tail;
        Error::Corrupt(why)
    }
}

impl Drop for Sender {
    /// Closes the stream if this process has attached the half: the receiver reads what is there, then the end.
    fn drop(&mut self) {
        if self.standing.is_ours() {
            let words = self.region.words();
            parker::close(&words.sender.0, &words.receiver.0, self.region.fence());
        }
    }
}

#[cfg(not(loom))]
impl AsFd for Sender {
    /// The region's memfd, from which another process can [`open`](Sender::open) a half.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.region.as_fd()
    }
}
