//! Wake-ups between the users of one end of a doorbell. A process cannot send to its own socket, but raising the send limit
//! of the socket wakes all users that poll it for room.
//!
//! A sleeping reader waits for such a nudge. It must not wait for room itself, because there is nearly always room. So it
//! polls an epoll set, which watches the socket for room and reports each event once.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use rustix::net::sockopt;

use crate::own_numbers::settled;

use super::{Doorbell, Kind, SEND_BUFFER_WIDE, pipe};

/// Reports each [`Doorbell::nudge_own`] to a sleeper in [`Doorbell::wait`]. It belongs to one process: a forked child makes
/// its own.
#[derive(Debug)]
pub struct OwnWatch(OwnedFd);

impl Doorbell {
    /// Makes a watch for future nudges by other users of this end. Returns `None` for a pipe: its reading end can send itself
    /// a bell.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor.
    pub fn watch_own(&self) -> io::Result<Option<OwnWatch>> {
        if self.is_pipe() {
            return Ok(None);
        }
        let watch = OwnWatch(settled(epoll::create(epoll::CreateFlags::CLOEXEC)?));
        watch.add(self.own.as_fd())?;
        Ok(Some(watch))
    }

    /// Makes a watch for future packets and future nudges. It does not report the packets that are already in the queue.
    ///
    /// # Errors
    /// Those of [`Doorbell::watch_own`].
    pub fn watch_edges(&self) -> io::Result<OwnWatch> {
        let watch = OwnWatch(settled(epoll::create(epoll::CreateFlags::CLOEXEC)?));
        watch.add_for(self.own.as_fd(), epoll::EventFlags::IN | epoll::EventFlags::OUT)?;
        Ok(watch)
    }

    /// Wakes the sleepers at our end in all processes: those with a watch, and event loops with edge-triggered polls.
    ///
    /// Afterwards the descriptor is writable, whether or not there is room; the reading end of a pipe is readable instead. A
    /// watch misses the nudge if the end is made not writable ([`Doorbell::block_room`]) before the sleeper has run, because the
    /// kernel drops an event whose cause is gone. Therefore a sleeper with a watch also checks at intervals.
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
    /// Adds another socket. Each edge of room at it is reported too.
    ///
    /// # Errors
    /// The errors of epoll_ctl(2).
    pub(crate) fn add(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.add_for(socket, epoll::EventFlags::OUT)
    }

    fn add_for(&self, socket: BorrowedFd<'_>, events: epoll::EventFlags) -> io::Result<()> {
        epoll::add(&self.0, socket, epoll::EventData::new_u64(0), events | epoll::EventFlags::ET)?;
        // The first event reports only the present state.
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
    /// Takes the descriptor of an earlier watch.
    fn from(set: OwnedFd) -> OwnWatch {
        OwnWatch(set)
    }
}

impl AsFd for OwnWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
