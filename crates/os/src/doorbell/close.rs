//! Closing an end while other threads use its descriptor.

use std::io;
use std::os::fd::AsRawFd;

use rustix::fs::{Mode, OFlags, open};

use super::Doorbell;

impl Doorbell {
    /// Closes this process's copy of the end. The descriptor's number stays taken until the doorbell is dropped, so
    /// that a thread in the middle of a call finds no other file under it: its calls fail with `EBADF`, and a poll
    /// returns at once.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor; then nothing has been closed.
    pub fn close(&self) -> io::Result<()> {
        let nothing = open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        // SAFETY: a system call on two descriptors that stay open; that of the doorbell is its own as long as it lives, and
        // names another file afterwards, which is what its users are promised.
        match unsafe { libc::dup3(nothing.as_raw_fd(), self.own.as_raw_fd(), libc::O_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}
