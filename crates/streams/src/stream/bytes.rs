//! Bytes: reading and writing them, also by the standard library's traits, and how many can be read.

use std::io::{self, IoSlice, IoSliceMut};

use super::Stream;
use crate::error::Result;

impl Stream {
    /// Reads bytes as the read options say, at most as many as the buffer takes; waits until there are some. 0 is the end
    /// of the stream, or a message without bytes. A buffer without room reads nothing and gives 0. Bytes before a message that
    /// is marked (MSGMARK) are not read together with it.
    ///
    /// # Errors
    /// `EAGAIN` for a non-blocking stream when nothing is there; `EBADMSG` for a control part, or another message that
    /// read does not take; an error that a module raised; `EINTR` after a signal; `EPROTO` on a broken stream.
    #[doc = include_str!("../../doc/bytes.md")]
    #[doc(alias = "read(2)")]
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize> {
        self.call(|handle| handle.read(buffer))
    }

    /// Reads into several buffers as if they were one.
    ///
    /// # Errors
    /// As [`Stream::read`].
    #[doc = include_str!("../../doc/bytes.md")]
    #[doc(alias = "readv(2)")]
    #[inline]
    pub fn readv(&self, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
        self.call(|handle| handle.readv(buffers))
    }

    /// Writes bytes and returns how many: all of them, unless the stream is non-blocking and there was room for a part, or
    /// a signal came after a part. What is not longer than maxpsz is not mixed with other writes.
    ///
    /// # Errors
    /// `EAGAIN` for a non-blocking stream when the stream is full; `ERANGE` if the first module or driver below, or the other head, has
    /// set a minpsz, and the bytes are less, or too many for one message; `EPIPE` when the other end is gone; `ENXIO` after a
    /// hang-up; an error that a module raised; `EINTR` after a signal; `EPROTO` on a broken stream.
    #[doc = include_str!("../../doc/bytes.md")]
    #[doc(alias = "write(2)")]
    #[inline]
    pub fn write(&self, bytes: &[u8]) -> Result<usize> {
        self.call(|handle| handle.write(bytes))
    }

    /// Writes several pieces as if they were one.
    ///
    /// # Errors
    /// As [`Stream::write`].
    #[doc = include_str!("../../doc/bytes.md")]
    #[doc(alias = "writev(2)")]
    #[inline]
    pub fn writev(&self, pieces: &[IoSlice<'_>]) -> Result<usize> {
        self.call(|handle| handle.writev(pieces))
    }

    /// How many bytes the data part of the first message has, and how many messages there are (I_NREAD). Plain bytes
    /// count as one message.
    ///
    /// # Errors
    /// Those of a stream with a read error.
    #[doc = include_str!("../../doc/queue_state.md")]
    #[doc(alias = "I_NREAD")]
    pub fn nread(&self) -> Result<(usize, usize)> {
        self.call(|handle| handle.nread())
    }

    /// How many bytes reads can take without waiting (FIONREAD): of all messages at the head what the read options let pass. A control
    /// part counts if it is read as data. A message that a read does not take, because of its control part or as a passed file, ends
    /// the count.
    ///
    /// # Errors
    /// Those of a stream with a read error.
    #[doc = include_str!("../../doc/queue_state.md")]
    #[doc(alias = "FIONREAD")]
    pub fn readable_bytes(&self) -> Result<usize> {
        self.call(|handle| handle.readable_bytes())
    }

    /// Reads as [`Stream::readv`], and fails with `EAGAIN` instead of waiting, whatever the end's O_NONBLOCK says: for the C
    /// library's RWF_NOWAIT.
    #[doc(hidden)]
    pub fn readv_now(&self, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
        self.call(|handle| {
            // The next call of the thread sets it anew.
            handle.nonblocking = true;
            handle.readv(buffers)
        })
    }

    /// Writes as [`Stream::writev`], and fails with `EAGAIN` instead of waiting, as [`Stream::readv_now`].
    #[doc(hidden)]
    pub fn writev_now(&self, pieces: &[IoSlice<'_>]) -> Result<usize> {
        self.call(|handle| {
            handle.nonblocking = true;
            handle.writev(pieces)
        })
    }
}

impl io::Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(Stream::read(self, buffer)?)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        Ok(self.readv(buffers)?)
    }
}

impl io::Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(Stream::write(self, bytes)?)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(self.writev(pieces)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl io::Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        io::Read::read(&mut &*self, buffer)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        io::Read::read_vectored(&mut &*self, buffers)
    }
}

impl io::Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut &*self, bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        io::Write::write_vectored(&mut &*self, pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
