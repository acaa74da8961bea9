//! A doorbell with two ends: a pair of connected sockets, or of pipes, that carries lifetime, readiness and passed files,
//! never data.
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
    /// What is answered and polled: a socket, or the reading end of our own pipe.
    own: OwnedFd,
    /// The other end's pipe, open both ways, so that ringing it never raises SIGPIPE. None: the socket does both.
    other: Option<OwnedFd>,
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
        Ok((Doorbell { own: one, other: None }, Doorbell { own: other, other: None }))
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
        Ok(Doorbell { own: socket, other: None })
    }

    /// An end of two pipes: the reading end of ours, and the other end's, open for reading and writing. Both are made
    /// non-blocking. The other end is gone when nobody has ours open for writing.
    ///
    /// Errors: what fcntl(2) reports.
    pub fn of_pipes(own: OwnedFd, other: OwnedFd) -> io::Result<Doorbell> {
        for fd in [&own, &other] {
            let flags = rustix::fs::fcntl_getfl(fd)?;
            rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)?;
        }
        Ok(Doorbell { own, other: Some(other) })
    }

    /// Rings at the other end. True also if its queue of bells is full: then it has heard. False if nobody is there.
    pub fn ring(&self) -> bool {
        let rung = match &self.other {
            Some(pipe) => rustix::io::write(pipe, BELL),
            None => send(&self.own, BELL, QUIETLY),
        };
        matches!(rung, Ok(_) | Err(Errno::AGAIN | Errno::NOBUFS))
    }

    /// Passes an open file to the other end.
    ///
    /// Errors: `WouldBlock` while the other end has many untaken; `EPIPE` if it is gone; `Unsupported` over pipes.
    pub fn pass(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        if self.other.is_some() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "no file is passed through a named FIFO"));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files = [file];
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)), "there is space for one file");
        sendmsg(&self.own, &[IoSlice::new(FILE)], &mut ancillary, QUIETLY)?;
        Ok(())
    }

    /// Takes one bell or file, without waiting.
    pub fn answer(&self) -> io::Result<Answer> {
        if self.other.is_some() {
            return self.answer_pipe();
        }
        let mut byte = [0];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = loop {
            match recvmsg(&self.own, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags) {
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

    fn answer_pipe(&self) -> io::Result<Answer> {
        match rustix::io::read(&self.own, &mut [0]) {
            Ok(0) => Ok(Answer::Gone),
            Ok(_) => Ok(Answer::Bell),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Answer::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// Sleeps until something can be taken, the other end is gone, or `timeout` is over (None: no bound).
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<Heard> {
        let timeout = timeout.and_then(|duration| Timespec::try_from(duration).ok());
        let mut polled = [PollFd::new(&self.own, PollFlags::IN | PollFlags::RDHUP)];
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

    /// The number by which the kernel knows this end, the same for every copy: a socket's is never used again, a pipe's
    /// not while it is open.
    pub fn cookie(&self) -> io::Result<u64> {
        match self.other {
            Some(_) => Ok(rustix::fs::fstat(&self.own)?.st_ino),
            None => Ok(sockopt::socket_cookie(&self.own)?),
        }
    }

    /// All descriptors of the end: what must be passed on together.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.own.as_fd()).chain(self.other.as_ref().map(AsFd::as_fd))
    }

    /// The two descriptors of an end of pipes: our own pipe, then the other end's.
    pub fn both(&self) -> Option<[BorrowedFd<'_>; 2]> {
        self.other.as_ref().map(|other| [self.own.as_fd(), other.as_fd()])
    }

    /// Another descriptor of the same end.
    pub fn try_clone(&self) -> io::Result<Doorbell> {
        let other = self.other.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok(Doorbell { own: self.own.try_clone()?, other })
    }
}

/// A caller that rings must neither wait nor be killed by SIGPIPE.
const QUIETLY: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }
}

#[cfg(test)]
mod tests;
