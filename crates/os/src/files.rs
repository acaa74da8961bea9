//! Nodes of the file system that are not read or written: FIFOs as names, locks, pipes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, FileType, FlockOperation, Mode};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

pub use rustix::fs::OFlags;

/// Makes a FIFO node with these permissions, less the process's mask.
///
/// Errors: what mkfifo(3) reports.
pub fn make_fifo(path: &Path, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(mode), 0)?)
}

/// A FIFO node that is held without being opened, its device and its number.
///
/// Errors: `InvalidInput` if the path leads to something else; what open(2) reports.
pub fn anchor_of_fifo(path: &Path) -> io::Result<(OwnedFd, u64, u64)> {
    let anchor = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let status = rustix::fs::fstat(&anchor)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::Fifo {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a FIFO (mkfifo makes one)"));
    }
    Ok((anchor, status.st_dev, status.st_ino))
}

/// The device and the number of what a descriptor is of.
///
/// Errors: what fstat(2) reports.
pub fn identity(fd: impl AsFd) -> io::Result<(u64, u64)> {
    let status = rustix::fs::fstat(fd)?;
    Ok((status.st_dev, status.st_ino))
}

/// Whether a descriptor is of a FIFO, named or not.
///
/// Errors: what fstat(2) reports.
pub fn is_fifo(fd: impl AsFd) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) == FileType::Fifo)
}

/// Whether the process may read, or write, what the path leads to.
///
/// Errors: `PermissionDenied` if not.
pub fn check_access(path: &Path, write: bool) -> io::Result<()> {
    let access = if write { Access::WRITE_OK } else { Access::READ_OK };
    Ok(rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS)?)
}

/// Locks what the path leads to against others who lock it, waiting for them; dropped, it is free again.
///
/// Errors: `PermissionDenied` without the permission to read.
pub fn lock(path: &Path) -> io::Result<OwnedFd> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    loop {
        match rustix::fs::flock(&file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            done => return Ok(done.map(|()| file)?),
        }
    }
}

/// A pipe: its reading end, then its writing end.
///
/// Errors: what pipe2(2) reports.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}
