//! A lock on the whole of a nameless file, by `fcntl(2)`.
//!
//! The file is in memory (`memfd_create(2)`), so that what is measured is the kernel's own locking and not that of some
//! file system, and so that there is never a name to leave behind.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;

use rustix::fs::{MemfdFlags, memfd_create};

use super::{check_call, uninterrupted};

/// The owner of a lock, for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// To the process (POSIX record lock): excludes other processes, never the threads of one process.
    Process,
    /// To the open file description (`F_OFD_SETLKW`): excludes the users of other descriptions of the file.
    Description,
}

/// A lock on a file.
#[derive(Debug)]
pub struct RecordLock {
    file: File,
    owner: Owner,
}

impl RecordLock {
    /// A free lock on a new file.
    ///
    /// # Errors
    /// What `memfd_create(2)` reports.
    pub fn new(owner: Owner) -> io::Result<RecordLock> {
        let file = memfd_create("headwater-record-lock", MemfdFlags::CLOEXEC)?.into();
        Ok(RecordLock { file, owner })
    }

    /// The same file over an open file description of its own.
    ///
    /// # Errors
    /// What `open(2)` on `/proc/self/fd` reports.
    pub fn reopen(&self) -> io::Result<RecordLock> {
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(RecordLock { file: OpenOptions::new().read(true).write(true).open(path)?, owner: self.owner })
    }

    /// Waits until no other owner holds it and takes it. Nothing happens if this owner holds it already.
    ///
    /// # Errors
    /// What `fcntl(2)` reports: `EDEADLK` or `ENOLCK`.
    #[inline]
    pub fn lock(&self) -> io::Result<()> {
        let command = match self.owner {
            Owner::Process => libc::F_SETLKW,
            Owner::Description => libc::F_OFD_SETLKW,
        };
        let whole = whole_file(libc::F_WRLCK);
        // SAFETY: the call reads the valid flock that it is given.
        uninterrupted(|| unsafe { libc::fcntl(self.file.as_raw_fd(), command, &whole) })
    }

    /// Gives it up. Nothing happens if this owner does not hold it.
    ///
    /// # Errors
    /// What `fcntl(2)` reports.
    #[inline]
    pub fn unlock(&self) -> io::Result<()> {
        let command = match self.owner {
            Owner::Process => libc::F_SETLK,
            Owner::Description => libc::F_OFD_SETLK,
        };
        let whole = whole_file(libc::F_UNLCK);
        // SAFETY: as above.
        check_call(unsafe { libc::fcntl(self.file.as_raw_fd(), command, &whole) })
    }
}

/// From the first byte to however long the file becomes. Locks on descriptions demand a process id of 0.
fn whole_file(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}
