//! Ends from elsewhere: through exec, over sockets, and by one descriptor that stands for all of an end's.

use std::os::fd::{AsFd, OwnedFd};

use super::Stream;
use crate::error::Result;
use crate::head::handle::Handle;

impl Stream {
    /// The end behind a descriptor that came through exec, or that was made by dup(2) in this process.
    ///
    /// # Errors
    /// `ENOSTR` for one that is no end of a stream, or whose other descriptors were closed; `EACCES` for the stream of a driver that
    /// neither this process's user nor root has made, and in a program with more rights than its starter (set-user-ID):
    /// [`Device::take_fd`](crate::Device::take_fd) takes these up.
    #[doc = include_str!("../../doc/exec.md")]
    pub fn from_fd(fd: OwnedFd) -> Result<Stream> {
        Handle::from_fd(fd).map(Stream::from)
    }

    /// The end behind a descriptor of that number, which stays open beside the stream's own.
    ///
    /// # Errors
    /// `EBADF` if there is none of that number; else as [`Stream::from_fd`].
    #[doc = include_str!("../../doc/exec.md")]
    pub fn from_number(number: u32) -> Result<Stream> {
        Handle::from_number(number).map(Stream::from)
    }

    /// Whether exec keeps this end open. The new program takes it up by [`Stream::from_fd`] or [`Stream::from_number`],
    /// for which it needs the number of the [descriptor](AsFd) alone, but the end's other descriptors must have been kept.
    ///
    /// # Errors
    /// What fcntl(2) reports.
    #[doc = include_str!("../../doc/exec.md")]
    #[doc(alias = "FD_CLOEXEC")]
    pub fn set_inheritable(&self, inheritable: bool) -> Result<()> {
        self.call(|handle| handle.set_inheritable(inheritable))
    }

    /// Sends this end over a local socket (SCM_RIGHTS), to be taken up there by [`Stream::receive_over`]. The sender
    /// keeps the end.
    ///
    /// # Errors
    /// What the socket reports.
    #[doc = include_str!("../../doc/sockets.md")]
    #[doc(alias = "SCM_RIGHTS")]
    pub fn send_over(&self, socket: impl AsFd) -> Result<()> {
        self.call(|handle| handle.send_over(socket))
    }

    /// Takes up an end of a pipe or FIFO that was sent over a local socket. A stream of a driver is taken up by
    /// [`Device::receive_over`](crate::Device::receive_over), which names the driver.
    ///
    /// # Errors
    /// `ENOSTR` for something else; `EACCES` for a stream of a driver; `EPROTO` for a stream of another version; what the socket reports.
    #[doc = include_str!("../../doc/sockets.md")]
    #[doc(alias = "SCM_RIGHTS")]
    pub fn receive_over(socket: impl AsFd) -> Result<Stream> {
        Handle::receive_over(socket).map(Stream::from)
    }

    /// A descriptor that stands for this end wherever one can be passed: over a socket (SCM_RIGHTS) or another stream
    /// (I_SENDFD). The receiver takes the end up by [`Stream::from_bundle`]. Nothing can be read from it or written to it.
    ///
    /// # Errors
    /// `EMFILE` without two free descriptors.
    #[doc = include_str!("../../doc/bundles.md")]
    pub fn to_bundle(&self) -> Result<OwnedFd> {
        self.call(|handle| handle.to_bundle())
    }

    /// The end of a pipe or FIFO for which a descriptor of [`Stream::to_bundle`] stands; None if it is something else, which is left as it
    /// is. A stream of a driver is taken up by [`Device::take_bundle`](crate::Device::take_bundle), which names the driver.
    ///
    /// # Errors
    /// `EACCES` for a stream of a driver, for which the descriptor still stands; `EPROTO` for a stream of another version; `ENOSTR` for
    /// descriptors that are not of one stream; `EMFILE`.
    #[doc = include_str!("../../doc/bundles.md")]
    pub fn from_bundle(file: impl AsFd) -> Result<Option<Stream>> {
        Ok(Handle::from_bundle(file)?.map(Stream::from))
    }
}
