//! Single calls that do not wait, whatever the end's O_NONBLOCK says: for the C library's RWF_NOWAIT.

use std::io::{IoSlice, IoSliceMut};

use super::Stream;
use crate::error::Result;

impl Stream {
    /// As [`Stream::readv`], which fails with `EAGAIN` instead of waiting.
    #[doc(hidden)]
    pub fn readv_now(&self, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
        self.call(|handle| {
            // The next call of the thread sets it anew.
            handle.nonblocking = true;
            handle.readv(buffers)
        })
    }

    /// As [`Stream::writev`], which fails with `EAGAIN` instead of waiting.
    #[doc(hidden)]
    pub fn writev_now(&self, pieces: &[IoSlice<'_>]) -> Result<usize> {
        self.call(|handle| {
            handle.nonblocking = true;
            handle.writev(pieces)
        })
    }
}
