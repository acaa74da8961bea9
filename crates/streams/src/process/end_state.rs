//! The state of an end, as all of its users see it: its bits, and the error that ends its calls.

use std::sync::atomic::Ordering;

use crate::error::Errno;
use crate::layout::EndWords;

/// A bit of an end's state: M_HANGUP has arrived.
pub(crate) const HUNG_UP: u32 = 1;
/// A bit of an end's state: M_ERROR has arrived, for reading.
pub(crate) const READ_ERROR: u32 = 2;
/// A bit of an end's state: M_ERROR has arrived, for writing.
pub(crate) const WRITE_ERROR: u32 = 4;
/// A bit of an end's state: the end is linked below a multiplexer, as far as is known. The process
/// that made the link may have died since.
pub(crate) const LINKED: u32 = 8;

impl EndWords {
    /// Makes reads and writes of all users of the end fail with this error, as an M_ERROR does.
    pub fn raise_error(&self, errno: Errno) {
        for word in [&self.read_error, &self.write_error] {
            word.store(errno.number().unsigned_abs(), Ordering::Relaxed);
        }
        self.state.fetch_or(READ_ERROR | WRITE_ERROR, Ordering::Release);
    }
}
