//! Direct use of an end: calls without the lookup of the thread's own state, and the stream's memory lent out.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use super::Stream;
use crate::counters::Counters;
use crate::error::Result;
use crate::head::handle::Handle;
use crate::head::{Events, MessageFilter, ReadGrant, Received, ReceivedDatagram, WriteGrant};
use crate::message::Message;
use crate::message::priority::Priority;

/// A user of an end, for one thread at a time.
///
/// For a thread that makes millions of calls: each saves some 2 ns. It begins with the O_NONBLOCK of the stream that it was made of,
/// and has its own from then on. It keeps the end open, as a clone does. Its calls are those of [`Stream`], where their errors are
/// described; what it has no call for, [its stream](DirectStream::stream) does.
#[doc = include_str!("../../doc/direct.md")]
#[derive(Debug)]
pub struct DirectStream {
    /// Dropped before the stream, which then closes the end if it was the last clone.
    handle: Handle,
    stream: Stream,
}

impl DirectStream {
    pub(super) fn new(stream: &Stream) -> DirectStream {
        DirectStream { handle: stream.new_handle(), stream: stream.clone() }
    }

    /// The end itself.
    #[doc = include_str!("../../doc/direct.md")]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Reads bytes, as [`Stream::read`].
    ///
    /// # Errors
    /// As [`Stream::read`].
    #[doc = include_str!("../../doc/direct.md")]
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.handle.read(buffer)
    }

    /// Writes bytes, as [`Stream::write`].
    ///
    /// # Errors
    /// As [`Stream::write`].
    #[doc = include_str!("../../doc/direct.md")]
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.handle.write(bytes)
    }

    /// Sends a message of these parts in band 0, as [`Stream::putmsg`].
    ///
    /// # Errors
    /// As [`Stream::putpmsg`].
    #[doc = include_str!("../../doc/direct_messages.md")]
    #[inline]
    pub fn putmsg(&mut self, control: Option<&[u8]>, data: Option<&[u8]>) -> Result<()> {
        self.handle.putmsg(control, data)
    }

    /// Sends a message of these parts, in a band or with high priority, as [`Stream::putpmsg`].
    ///
    /// # Errors
    /// As [`Stream::putpmsg`].
    #[doc = include_str!("../../doc/direct_messages.md")]
    #[inline]
    pub fn putpmsg(
        &mut self,
        control: Option<&[u8]>,
        data: Option<&[u8]>,
        priority: impl Into<Priority>,
    ) -> Result<()> {
        self.handle.putpmsg(control, data, priority)
    }

    /// Takes the first message, of any priority, as [`Stream::getmsg`].
    ///
    /// # Errors
    /// As [`Stream::getpmsg`].
    #[doc = include_str!("../../doc/direct_messages.md")]
    #[inline]
    pub fn getmsg(&mut self, control: Option<&mut [u8]>, data: Option<&mut [u8]>) -> Result<Received> {
        self.handle.getmsg(control, data)
    }

    /// Takes the message at the front, if it is one of those that are wanted, as [`Stream::getpmsg`].
    ///
    /// # Errors
    /// As [`Stream::getpmsg`].
    #[doc = include_str!("../../doc/direct_messages.md")]
    #[inline]
    pub fn getpmsg(
        &mut self,
        control: Option<&mut [u8]>,
        data: Option<&mut [u8]>,
        filter: MessageFilter,
    ) -> Result<Received> {
        self.handle.getpmsg(control, data, filter)
    }

    /// Takes the first message whole, as [`Stream::receive`].
    ///
    /// # Errors
    /// As [`Stream::getpmsg`].
    #[doc = include_str!("../../doc/direct_messages.md")]
    #[inline]
    pub fn receive(&mut self) -> Result<Option<Message<'static>>> {
        self.handle.receive()
    }

    /// Sends a datagram, as [`Stream::send_to`].
    ///
    /// # Errors
    /// As [`Stream::send_to`].
    #[inline]
    pub fn send_to(&mut self, address: &[u8], options: &[u8], data: &[u8]) -> Result<()> {
        self.handle.send_to(address, options, data)
    }

    /// Takes the first datagram, as [`Stream::recv_from`].
    ///
    /// # Errors
    /// As [`Stream::recv_from`].
    #[inline]
    pub fn recv_from(
        &mut self,
        address: &mut [u8],
        options: &mut [u8],
        data: &mut [u8],
    ) -> Result<Option<ReceivedDatagram>> {
        self.handle.recv_from(address, options, data)
    }

    /// Waits until one of the events is there, as [`Stream::poll`].
    ///
    /// # Errors
    /// As [`Stream::poll`].
    #[doc = include_str!("../../doc/direct.md")]
    pub fn poll(&mut self, wanted: Events, timeout: Option<Duration>) -> Result<Events> {
        self.handle.poll(wanted, timeout)
    }

    /// Reserves a place for a message of `len` bytes of data, waiting for room if need be.
    ///
    /// # Errors
    /// `ERANGE` beyond maxpsz, or below the minpsz that the other head has set; `EINVAL` on a stream without lanes, or with
    /// modules, which take messages as a whole; else as [`Stream::write`].
    #[doc = include_str!("../../doc/zero_copy.md")]
    pub fn reserve(&mut self, len: usize) -> Result<WriteGrant<'_>> {
        self.handle.reserve(len)
    }

    /// Borrows the data of the message at the front, waiting for one if nothing is there. None at the end of the stream.
    ///
    /// # Errors
    /// `EBADMSG` for a message that does not lie in a lane, or has a control part; else as [`Stream::read`].
    #[doc = include_str!("../../doc/zero_copy.md")]
    pub fn borrow(&mut self) -> Result<Option<ReadGrant<'_>>> {
        self.handle.borrow()
    }

    /// Sets whether calls that would wait fail with `EAGAIN` instead, for this user of the end alone.
    ///
    /// # Errors
    /// As [`Stream::set_nonblocking`].
    #[doc = include_str!("../../doc/direct.md")]
    #[doc(alias = "O_NONBLOCK")]
    pub fn set_nonblocking(&mut self, nonblocking: bool) -> Result<()> {
        self.handle.set_nonblocking(nonblocking)
    }

    /// Takes this user's place at the end, as [`Stream::attach`].
    ///
    /// # Errors
    /// As [`Stream::attach`].
    #[doc = include_str!("../../doc/direct.md")]
    pub fn attach(&mut self) -> Result<()> {
        self.handle.attach()
    }

    /// The counts of the calls that were made on this value.
    #[doc = include_str!("../../doc/direct.md")]
    pub fn counters(&self) -> Counters {
        self.handle.counters()
    }
}

impl AsFd for DirectStream {
    /// The end's descriptor: for poll and epoll, and to be passed on.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.end.doorbell().as_fd()
    }
}

impl AsRawFd for DirectStream {
    /// As [`AsFd::as_fd`], for event loops that ask for a number.
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl io::Read for DirectStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.handle.read(buffer)?)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        Ok(self.handle.readv(buffers)?)
    }
}

impl io::Write for DirectStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(self.handle.write(bytes)?)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(self.handle.writev(pieces)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
