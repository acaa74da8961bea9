//! How much the queues of a stream take: water marks, and the size of a pipe as the kernel counts it, for the C library's
//! F_GETPIPE_SZ.

use super::Stream;
use crate::error::Result;

impl Stream {
    /// High and low water mark of this end's read queue, bytes.
    #[doc = include_str!("../../doc/water_marks.md")]
    #[doc(alias = "SO_HIWAT")]
    #[doc(alias = "SO_LOWAT")]
    pub fn water_marks(&self) -> (u32, u32) {
        self.with(|handle| handle.water_marks())
    }

    /// As [`crate::Handle::pipe_size`].
    #[doc(hidden)]
    pub fn pipe_size(&self) -> Option<u32> {
        self.with(|handle| handle.pipe_size())
    }

    /// As [`crate::Handle::set_pipe_size`].
    #[doc(hidden)]
    pub fn set_pipe_size(&self, size: u32) -> Result<()> {
        self.call(|handle| {
            handle.attach()?;
            handle.set_pipe_size(size)
        })
    }
}
