//! Closing an end of a doorbell while other threads use its descriptor.

use std::io;
use std::os::fd::AsRawFd;

use rustix::fs::{Mode, OFlags, open};

use super::Doorbell;

impl Doorbell {
    /// Closes this process's copy of the end. The file descriptor is not reused until the doorbell is dropped. So a thread in
    /// the middle of a call cannot reach another file: its calls fail with `EBADF`, and a poll returns at once.
    ///
    /// # Errors
    /// `EMFILE` without a free descriptor. Then nothing has been closed.
    pub fn close(&self) -> io::Result<()> {
        let nothing = open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        // SAFETY: a system call on two descriptors that stay open. The doorbell owns its descriptor, which refers to another
        // file afterwards, as documented.
        match unsafe { libc::dup3(nothing.as_raw_fd(), self.own.as_raw_fd(), libc::O_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}
