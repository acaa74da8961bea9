//! A doorbell with two ends: a pair of connected sockets that carries lifetime, readiness and passed files, never data.
//!
//! Each end of a stream holds one. The kernel keeps count of its copies through fork, dup, exec and SCM_RIGHTS; when the
//! last one is gone, however its process died, the other end hears [`Heard::Gone`]. A bell is one packet on the socket,
//! so the descriptor works in poll and epoll, and nobody but the two ends can ring or answer it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, send, sendmsg, socketpair, sockopt,
};

/// A bell.
const BELL: &[u8] = b"b";
/// A packet that carries an open file.
const FILE: &[u8] = b"f";

/// One end.
#[derive(Debug)]
pub struct Doorbell {
    socket: OwnedFd,
}

/// What [`Doorbell::answer`] took.
#[derive(Debug)]
pub enum Answer {
    /// One bell.
    Bell,
    /// An open file that the other end passed.
    File(OwnedFd),
    /// Nothing has been sent.
    Nothing,
    /// Every copy of the other end is gone, and all that it sent has been taken.
    Gone,
}

/// Why [`Doorbell::wait`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Something can be taken by [`Doorbell::answer`].
    Rung,
    /// Every copy of the other end is gone.
    Gone,
    /// The time is over.
    TimedOut,
    /// A signal handler ran.
    Interrupted,
}

impl Doorbell {
    /// Makes two connected ends, closed by exec unless the caller clears that.
    ///
    /// Errors: what socketpair(2) reports, `EMFILE` above all.
    pub fn pair() -> io::Result<(Doorbell, Doorbell)> {
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Doorbell { socket: one }, Doorbell { socket: other }))
    }

    /// The end behind a descriptor from elsewhere.
    ///
    /// Errors: `InvalidInput` if it is no connected local packet socket.
    pub fn from_fd(socket: OwnedFd) -> io::Result<Doorbell> {
        let fits = sockopt::socket_type(&socket) == Ok(SocketType::SEQPACKET)
            && sockopt::socket_domain(&socket) == Ok(AddressFamily::UNIX);
        if !fits {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "descriptor is no end of a doorbell"));
        }
        Ok(Doorbell { socket })
    }

    /// Rings at the other end. True also if its queue of bells is full: then it has heard. False if nobody is there.
    pub fn ring(&self) -> bool {
        matches!(send(&self.socket, BELL, QUIETLY), Ok(_) | Err(Errno::AGAIN | Errno::NOBUFS))
    }

    /// Passes an open file to the other end.
    ///
    /// Errors: `WouldBlock` while the other end has many untaken; `EPIPE` if it is gone.
    pub fn pass(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files = [file];
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)), "there is space for one file");
        sendmsg(&self.socket, &[IoSlice::new(FILE)], &mut ancillary, QUIETLY)?;
        Ok(())
    }

    /// Takes one bell or file, without waiting.
    pub fn answer(&self) -> io::Result<Answer> {
        let mut byte = [0];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = loop {
            match recvmsg(&self.socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags) {
                Err(Errno::INTR) => {}
                done => break done,
            }
        };
        match received {
            Ok(message) if message.bytes == 0 => Ok(Answer::Gone),
            Ok(_) if byte == *FILE => {
                let file = ancillary.drain().find_map(|message| match message {
                    RecvAncillaryMessage::ScmRights(mut files) => files.next(),
                    _ => None,
                });
                // A packet that says so and carries none: the limit of descriptors stood in the way.
                file.map(Answer::File).ok_or_else(|| Errno::MFILE.into())
            }
            Ok(_) => Ok(Answer::Bell),
            Err(Errno::AGAIN) => Ok(Answer::Nothing),
            Err(Errno::CONNRESET) => Ok(Answer::Gone),
            Err(error) => Err(error.into()),
        }
    }

    /// Sleeps until something can be taken, the other end is gone, or `timeout` is over (None: no bound).
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<Heard> {
        let timeout = timeout.and_then(|duration| Timespec::try_from(duration).ok());
        let mut polled = [PollFd::new(&self.socket, PollFlags::IN | PollFlags::RDHUP)];
        match poll(&mut polled, timeout.as_ref()) {
            Ok(0) => Ok(Heard::TimedOut),
            Ok(_) if polled[0].revents().intersects(PollFlags::HUP | PollFlags::RDHUP) => Ok(Heard::Gone),
            Ok(_) => Ok(Heard::Rung),
            Err(Errno::INTR) => Ok(Heard::Interrupted),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether every copy of the other end is gone. One poll(2).
    pub fn is_alone(&self) -> io::Result<bool> {
        loop {
            match self.wait(Some(Duration::ZERO))? {
                Heard::Interrupted => {}
                heard => return Ok(heard == Heard::Gone),
            }
        }
    }

    /// The number by which the kernel knows this end's socket, the same for every copy and never used again.
    pub fn cookie(&self) -> io::Result<u64> {
        Ok(sockopt::socket_cookie(&self.socket)?)
    }

    /// Another descriptor of the same end.
    pub fn try_clone(&self) -> io::Result<Doorbell> {
        Ok(Doorbell { socket: self.socket.try_clone()? })
    }

    /// The descriptor, which is then the caller's to close.
    pub fn into_fd(self) -> OwnedFd {
        self.socket
    }
}

/// A caller that rings must neither wait nor be killed by SIGPIPE.
const QUIETLY: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests;
