//! How much can be read at once.

use super::Stream;
use crate::error::Result;

impl Stream {
    /// How many bytes the data part of the first message has, and how many messages there are.
    ///
    /// # Errors
    /// As [`Handle::nread`](crate::Handle::nread), which says more.
    #[doc = include_str!("../../doc/queue_state.md")]
    #[doc(alias = "I_NREAD")]
    pub fn nread(&self) -> Result<(usize, usize)> {
        self.call(|handle| handle.nread())
    }

    /// How many bytes reads can take without waiting (FIONREAD), of all messages.
    ///
    /// # Errors
    /// As [`Handle::readable_bytes`](crate::Handle::readable_bytes), which says more.
    #[doc = include_str!("../../doc/queue_state.md")]
    #[doc(alias = "FIONREAD")]
    pub fn readable_bytes(&self) -> Result<usize> {
        self.call(|handle| handle.readable_bytes())
    }
}
