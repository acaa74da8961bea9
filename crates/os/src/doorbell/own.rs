//! How users of one end wake each other: none can send to its own socket, but whoever raises its send limit wakes all who
//! poll it for room.
//!
//! A reader that sleeps wants to hear that and does not want to hear that there is room, which is nearly always so. It
//! polls a set (epoll) in which the socket is watched for room, and tells of each event once.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use rustix::net::sockopt;

use super::{Doorbell, Kind, SEND_BUFFER_WIDE, pipe};

/// Tells a sleeper at [`Doorbell::wait`] of [`Doorbell::nudge_own`]. It is its process's own: a forked child makes another.
#[derive(Debug)]
pub struct OwnWatch(OwnedFd);

impl Doorbell {
    /// A watch for what other users of this end say from now on. None over a pipe, whose reading end can ring itself.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor.
    pub fn watch_own(&self) -> io::Result<Option<OwnWatch>> {
        if self.is_of_pipe() {
            return Ok(None);
        }
        let watch = OwnWatch(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        watch.add(self.own.as_fd())?;
        Ok(Some(watch))
    }

    /// Wakes who sleeps at our own end, in whatever process: with a watch, or by an event loop that is told of edges of
    /// readability and room. The descriptor is writable afterwards, whether or not there is room; that of a pipe's reading end
    /// is readable. A watch is not told if the end is made not writable ([`Doorbell::block_room`]) before its sleeper has run: the
    /// kernel drops an event whose cause is gone. Who sleeps on it looks now and then.
    ///
    /// # Errors
    /// What setsockopt(2) reports; of a pipe, what open(2) and read(2) do.
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
    /// Is told of each edge of room at this socket too.
    ///
    /// # Errors
    /// What epoll_ctl(2) reports.
    pub(crate) fn add(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let room = epoll::EventFlags::OUT | epoll::EventFlags::ET;
        epoll::add(&self.0, socket, epoll::EventData::new_u64(0), room)?;
        // There is room now, and that is no news.
        self.clear()
    }

    /// Forgets what it was told.
    ///
    /// # Errors
    /// What epoll_wait(2) reports.
    pub fn clear(&self) -> io::Result<()> {
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 2];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&self.0, &mut events, Some(&now))?;
        Ok(())
    }
}

impl From<OwnedFd> for OwnWatch {
    /// The watch behind a descriptor that was one.
    fn from(set: OwnedFd) -> OwnWatch {
        OwnWatch(set)
    }
}

impl AsFd for OwnWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
