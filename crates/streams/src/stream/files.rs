//! Open files and ends of streams that go along a stream (I_SENDFD, I_RECVFD).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use headwater_os::bundle;

use super::Stream;
use crate::error::Result;
use crate::head::ReceivedFile;
use crate::head::handle::Handle;
use crate::open::admission::Admission;
use crate::open::device::DeviceOptions;

impl Stream {
    /// Open files that are sent to the other end, and taken from it.
    #[doc = include_str!("../../doc/files.md")]
    pub fn files(&self) -> Files<'_> {
        Files(self)
    }
}

/// Open files that go along a stream; see [`Stream::files`].
#[derive(Debug, Clone, Copy)]
pub struct Files<'s>(&'s Stream);

impl Files<'_> {
    /// Sends an open file to the other end.
    ///
    /// # Errors
    /// `EINVAL` for a FIFO, whose writers are not connected to one reader, and for a device; `EAGAIN` when the stream is full, or has some
    /// files that were not received; else as [`Stream::write`].
    #[doc = include_str!("../../doc/files.md")]
    #[doc(alias = "I_SENDFD")]
    pub fn send(&self, file: BorrowedFd<'_>) -> Result<()> {
        self.0.call(|handle| handle.send_file(file))
    }

    /// Sends an end of a stream to the other end, where it is received as a file and taken up by [`ReceivedFile::into_stream`]. This
    /// process keeps the end until it drops it.
    ///
    /// # Errors
    /// `EBADF` for an end that was closed in this process; else as [`Files::send`].
    #[doc = include_str!("../../doc/passed_streams.md")]
    #[doc(alias = "I_SENDFD")]
    pub fn send_stream(&self, end: &Stream) -> Result<()> {
        let end = end.new_handle();
        self.0.call(|handle| handle.send_stream(&end))
    }

    /// Takes an open file that the other end has sent. As [`Files::receive_from`], without the sender.
    ///
    /// # Errors
    /// As [`Files::receive_from`].
    #[doc = include_str!("../../doc/files.md")]
    #[doc(alias = "I_RECVFD")]
    pub fn receive(&self) -> Result<OwnedFd> {
        self.0.call(|handle| handle.receive_file())
    }

    /// Takes an open file that the other end has sent, with the user and the group of the sender (I_RECVFD). If several
    /// processes read the same end, the one that takes it may find that another has received it.
    ///
    /// # Errors
    /// `EBADMSG` if the message at the front is another; `EAGAIN` for a non-blocking stream when nothing is there; `ENXIO`
    /// at the end of the stream; `EMFILE` without a free descriptor: the file stays.
    #[doc(alias = "strrecvfd")]
    #[doc = include_str!("../../doc/files.md")]
    #[doc(alias = "I_RECVFD")]
    pub fn receive_from(&self) -> Result<ReceivedFile> {
        self.0.call(|handle| handle.receive_file_from())
    }
}

impl ReceivedFile {
    /// Whether descriptors of a stream's end have come with the file: then [`ReceivedFile::into_stream`] takes it up.
    #[doc = include_str!("../../doc/passed_streams.md")]
    pub fn is_stream(&self) -> bool {
        !self.others.is_empty()
    }

    /// The end of a pipe or FIFO that was sent by [`Files::send_stream`], or by the module `connld`. A stream of a driver is taken up by
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
