//! The descriptor of a handle's end: for poll and epoll, and to be passed on.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use super::Handle;

impl AsFd for Handle {
    /// The end's descriptor: for poll and epoll, and to be passed on.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.end.doorbell().as_fd()
    }
}

impl AsRawFd for Handle {
    /// As [`AsFd::as_fd`], for event loops that ask for a number.
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}
