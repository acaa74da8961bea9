//! Ends from elsewhere: through exec, over sockets, and by one descriptor that stands for all of an end's.

use std::os::fd::{AsFd, OwnedFd};

use headwater_os::bundle;

use super::Stream;
use crate::error::Result;
use crate::head::ReceivedFile;
use crate::head::handle::Handle;
use crate::open::admission::Admission;
use crate::open::device::DeviceOptions;

impl Stream {
    /// The end behind a descriptor that came through exec, or that was made by dup(2) in this process.
    ///
    /// # Errors
    /// As [`Handle::from_fd`].
    #[doc = include_str!("../../doc/exec.md")]
    pub fn from_fd(fd: OwnedFd) -> Result<Stream> {
        Handle::from_fd(fd).map(Stream::from)
    }

    /// The end behind a descriptor of that number, which stays open beside the stream's own.
    ///
    /// # Errors
    /// As [`Handle::from_number`].
    #[doc = include_str!("../../doc/exec.md")]
    pub fn from_number(number: u32) -> Result<Stream> {
        Handle::from_number(number).map(Stream::from)
    }

    /// Sends this end over a local socket (SCM_RIGHTS), to be taken up there by [`Stream::receive_over`].
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
    /// As [`Handle::receive_over`].
    #[doc = include_str!("../../doc/sockets.md")]
    #[doc(alias = "SCM_RIGHTS")]
    pub fn receive_over(socket: impl AsFd) -> Result<Stream> {
        Handle::receive_over(socket).map(Stream::from)
    }

    /// A descriptor that stands for this end wherever one can be passed.
    ///
    /// # Errors
    /// As [`Handle::to_bundle`], which says more.
    #[doc = include_str!("../../doc/bundles.md")]
    #[doc(alias = "SCM_RIGHTS")]
    pub fn to_bundle(&self) -> Result<OwnedFd> {
        self.call(|handle| handle.to_bundle())
    }

    /// The end of a pipe or FIFO for which a descriptor of [`Stream::to_bundle`] stands; None if it is something else. A stream of a driver
    /// is taken up by [`Device::take_bundle`](crate::Device::take_bundle), which names the driver.
    ///
    /// # Errors
    /// As [`Handle::from_bundle`].
    #[doc = include_str!("../../doc/bundles.md")]
    #[doc(alias = "SCM_RIGHTS")]
    pub fn from_bundle(file: impl AsFd) -> Result<Option<Stream>> {
        Ok(Handle::from_bundle(file)?.map(Stream::from))
    }

    /// Sends an end of a stream to the other end, where it is received as a file and taken up by
    /// [`ReceivedFile::into_stream`](crate::ReceivedFile::into_stream).
    ///
    /// # Errors
    /// As [`Handle::send_stream`](crate::Handle::send_stream), which says more.
    #[doc = include_str!("../../doc/passed_streams.md")]
    #[doc(alias = "I_SENDFD")]
    pub fn send_stream(&self, end: &Stream) -> Result<()> {
        let end = end.handle();
        self.call(|handle| handle.send_stream(&end))
    }
}

impl ReceivedFile {
    /// Whether descriptors of a stream's end have come with the file: then [`ReceivedFile::into_stream`] takes it up.
    #[doc = include_str!("../../doc/passed_streams.md")]
    pub fn is_stream(&self) -> bool {
        !self.others.is_empty()
    }

    /// The end of a pipe or FIFO that was sent by [`Stream::send_stream`], or by the module `connld`. A stream of a driver is taken up by
    /// [`Device::take_received`](crate::Device::take_received), which names the driver.
    ///
    /// # Errors
    /// `ENOSTR` for any other file; `EACCES` for a stream of a driver; `EPROTO` for a stream of another version of the library.
    #[doc = include_str!("../../doc/passed_streams.md")]
    #[doc(alias = "I_RECVFD")]
    pub fn into_stream(self) -> Result<Stream> {
        Handle::of_received(self, Admission::Pipes, &DeviceOptions::new()).map(Stream::from)
    }

    /// A descriptor that stands for the stream whose descriptors have come, as of [`Stream::to_bundle`]: so a program keeps one that it
    /// has not asked for.
    ///
    /// # Errors
    /// `EMFILE` without two free descriptors.
    #[doc = include_str!("../../doc/passed_streams.md")]
    pub fn into_bundle(self) -> Result<OwnedFd> {
        let files: Vec<_> = std::iter::once(&self.file).chain(&self.others).map(AsFd::as_fd).collect();
        Ok(bundle::make(&files)?)
    }
}
