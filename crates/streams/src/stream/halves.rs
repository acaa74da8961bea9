//! The two halves of an end: one that reads, one that writes.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::sync::Arc;

use super::Stream;

/// The half of an end that reads.
#[derive(Debug)]
pub struct ReadHalf(Stream);

/// The half of an end that writes. Dropping it tells the other end that nothing more comes.
#[derive(Debug)]
pub struct WriteHalf {
    stream: Stream,
    /// Whether dropping it notifies the other end.
    tells: bool,
}

pub(super) fn of(stream: Stream) -> (ReadHalf, WriteHalf) {
    (ReadHalf(stream.clone()), WriteHalf { stream, tells: true })
}

impl ReadHalf {
    /// The end itself.
    #[doc = include_str!("../../doc/halves.md")]
    pub fn stream(&self) -> &Stream {
        &self.0
    }

    /// Joins two halves into the whole end.
    ///
    /// # Errors
    /// Returns both if they are halves of two different ends.
    #[doc = include_str!("../../doc/halves.md")]
    pub fn reunite(self, other: WriteHalf) -> Result<Stream, (ReadHalf, WriteHalf)> {
        if !Arc::ptr_eq(&self.0.shared, &other.stream.shared) {
            return Err((self, other));
        }
        other.forget();
        Ok(self.0)
    }
}

impl WriteHalf {
    /// The end itself.
    #[doc = include_str!("../../doc/halves.md")]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Drops it, and leaves its direction open.
    #[doc = include_str!("../../doc/halves.md")]
    pub fn forget(mut self) {
        self.tells = false;
    }
}

impl Drop for WriteHalf {
    fn drop(&mut self) {
        // An end of a FIFO has one direction, and is closed with its last clone.
        if self.tells && self.stream.has_both_directions() {
            // A broken stream has no reader to notify.
            let _ = self.stream.shutdown(Shutdown::Write);
        }
    }
}

impl io::Read for ReadHalf {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.0.read(buffer)?)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        Ok(self.0.readv(buffers)?)
    }
}

impl io::Write for WriteHalf {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(self.stream.write(bytes)?)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(self.stream.writev(pieces)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
