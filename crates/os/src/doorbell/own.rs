//! How users of one end wake each other: none can send to its own socket, but a user that raises its send limit wakes
//! all users that poll it for room.
//!
//! A sleeping reader waits for such a nudge, but not for room, which is nearly always there. It polls a set (epoll) in
//! which the socket is watched for room and which reports each event once.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use rustix::net::sockopt;

use crate::own_numbers::settled;

use super::{Doorbell, Kind, SEND_BUFFER_WIDE, pipe};

/// Tells a sleeper at [`Doorbell::wait`] of [`Doorbell::nudge_own`]. It belongs to one process: a forked child makes
/// another.
#[derive(Debug)]
pub struct OwnWatch(OwnedFd);

impl Doorbell {
    /// A watch for later nudges by other users of this end. None for a pipe, whose reading end can ring itself.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor.
    pub fn watch_own(&self) -> io::Result<Option<OwnWatch>> {
        if self.is_of_pipe() {
            return Ok(None);
        }
        let watch = OwnWatch(settled(epoll::create(epoll::CreateFlags::CLOEXEC)?));
        watch.add(self.own.as_fd())?;
        Ok(Some(watch))
    }

    /// A watch for packets that arrive from now on, whatever lies there, and for nudges.
    ///
    /// # Errors
    /// Those of [`Doorbell::watch_own`].
    pub fn watch_edges(&self) -> io::Result<OwnWatch> {
        let watch = OwnWatch(settled(epoll::create(epoll::CreateFlags::CLOEXEC)?));
        watch.add_for(self.own.as_fd(), epoll::EventFlags::IN | epoll::EventFlags::OUT)?;
        Ok(watch)
    }

    /// Wakes the sleepers at our own end, in every process: those with a watch, and event loops that poll for edges of
    /// readability and room. The descriptor is writable afterwards, whether or not there is room; that of a pipe's reading end
    /// is readable. A watch is not told if the end is made not writable ([`Doorbell::block_room`]) before its sleeper has run: the
    /// kernel drops an event whose cause is gone. A sleeper on it checks at intervals.
    ///
    /// # Errors
    /// The errors of setsockopt(2); for a pipe, those of open(2) and read(2).
    pub fn nudge_own(&self) -> io::Result<()> {
        match self.kind {
            Kind::Socket => sockopt::set_socket_send_buffer_size(&self.own, SEND_BUFFER_WIDE)?,
            Kind::Writer => pipe::widen(self.own.as_fd())?,
            Kind::Reader => {
                self.ring_own();
            }
        }
        Ok(())
    }
}

impl OwnWatch {
    /// Adds another socket, of which each edge of room is reported too.
    ///
    /// # Errors
    /// The errors of epoll_ctl(2).
    pub(crate) fn add(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.add_for(socket, epoll::EventFlags::OUT)
    }

    fn add_for(&self, socket: BorrowedFd<'_>, events: epoll::EventFlags) -> io::Result<()> {
        epoll::add(&self.0, socket, epoll::EventData::new_u64(0), events | epoll::EventFlags::ET)?;
        // The first event only reports what is there already.
        self.clear()
    }

    /// Discards the reported events.
    ///
    /// # Errors
    /// The errors of epoll_wait(2).
    pub fn clear(&self) -> io::Result<()> {
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 2];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&self.0, &mut events, Some(&now))?;
        Ok(())
    }
}

impl From<OwnedFd> for OwnWatch {
    /// The watch behind a descriptor of an earlier watch.
    fn from(set: OwnedFd) -> OwnWatch {
        OwnWatch(set)
    }
}

impl AsFd for OwnWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
