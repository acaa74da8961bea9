//! Descriptors beyond one's own handles: finding them by what they refer to, in this process and in others of the same
//! user, and handing them on.
//!
//! What a process may see in `/proc/PID/fd` is the kernel's decision; another user's descriptors are not found.

use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

/// A descriptor somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Whose.
    pub pid: u32,
    /// Its number there.
    pub number: u32,
}

impl Found {
    /// One of this process.
    pub fn own(fd: BorrowedFd<'_>) -> Found {
        Found { pid: std::process::id(), number: fd.as_raw_fd().unsigned_abs() }
    }

    /// Opens what it refers to anew: another open file description, with an offset and flags of its own.
    ///
    /// Errors: what open(2) reports; `NotFound` if it has been closed since.
    pub fn open(self, flags: OFlags) -> io::Result<OwnedFd> {
        let path = format!("/proc/{}/fd/{}", self.pid, self.number);
        Ok(rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?)
    }
}

/// All descriptors of this process, ascending.
///
/// Errors: what reading /proc reports.
pub fn own() -> io::Result<Vec<Found>> {
    of(std::process::id())
}

/// All descriptors of a process, ascending.
///
/// Errors: `PermissionDenied` for another user's process; `NotFound` if it has ended.
pub fn of(pid: u32) -> io::Result<Vec<Found>> {
    let mut found: Vec<Found> = fs::read_dir(format!("/proc/{pid}/fd"))?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .map(|number| Found { pid, number })
        .collect();
    found.sort_by_key(|found| found.number);
    Ok(found)
}

/// What a descriptor refers to, as the kernel writes it: `/memfd:NAME (deleted)`, `pipe:[NUMBER]`, a path.
///
/// Errors: `NotFound` if it has been closed.
pub fn link(found: Found) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{}/fd/{}", found.pid, found.number))
}

/// All descriptors with that link among the processes whose descriptors we may see, this one last.
///
/// Errors: what reading /proc reports.
pub fn anywhere(wanted: &str) -> io::Result<impl Iterator<Item = Found> + '_> {
    let own = std::process::id();
    let others = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let pids = others.filter(move |pid| *pid != own).chain([own]);
    // A process that ends meanwhile, or is another user's, has nothing to be found.
    let descriptors = pids.filter_map(|pid| of(pid).ok()).flatten();
    Ok(descriptors.filter(move |found| link(*found).is_ok_and(|link| link.as_os_str() == wanted)))
}

/// Whether other processes of this user may look at this process's descriptors: not after it has changed its user.
pub fn are_visible() -> bool {
    matches!(rustix::process::dumpable_behavior(), Ok(rustix::process::DumpableBehavior::Dumpable))
}

/// Another descriptor for one of this process by its number.
///
/// Errors: `EBADF` if there is none of that number.
pub fn duplicate(number: u32) -> io::Result<OwnedFd> {
    let number = i32::try_from(number).map_err(|_| rustix::io::Errno::BADF)?;
    // SAFETY: F_DUPFD_CLOEXEC makes a new descriptor or fails; it does not touch the old one.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fcntl has just made this descriptor and nobody else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Whether exec keeps the descriptor open.
///
/// Errors: what fcntl(2) reports.
pub fn set_inheritable(fd: BorrowedFd<'_>, inheritable: bool) -> io::Result<()> {
    let flags = if inheritable { FdFlags::empty() } else { FdFlags::CLOEXEC };
    Ok(rustix::io::fcntl_setfd(fd, flags)?)
}

/// Descriptors that go in one message.
const FILES_MAX: usize = 8;

/// Sends at most eight descriptors over a local socket, with one byte.
///
/// Errors: `InvalidInput` for more, else what sendmsg(2) reports.
pub fn send(socket: BorrowedFd<'_>, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if files.len() > FILES_MAX || !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
        let why = format!("at most {FILES_MAX} descriptors are sent at a time");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    sendmsg(socket, &[IoSlice::new(b"h")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives descriptors that were sent by [`send`].
///
/// Errors: `UnexpectedEof` when the other side is gone.
pub fn receive(socket: BorrowedFd<'_>) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let message = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            done => break done?,
        }
    };
    if message.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let files = ancillary.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.collect(),
        _ => Vec::new(),
    });
    Ok(files.collect())
}

/// The kernel's number of what a descriptor refers to.
///
/// Errors: what fstat(2) reports.
pub fn inode(fd: impl AsFd) -> io::Result<u64> {
    Ok(rustix::fs::fstat(fd)?.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_pipe_is_found_by_its_link() {
        let (source, sink) = io::pipe().expect("pipe");
        let wanted = format!("pipe:[{}]", inode(&source).expect("fstat"));
        let found = anywhere(&wanted).expect("/proc").next().expect("it is open");
        assert_eq!(found.pid, std::process::id());
        assert!(own().expect("/proc").contains(&Found::own(sink.as_fd())));
        drop((source, sink));
        assert_eq!(anywhere(&wanted).expect("/proc").next(), None);
    }

    #[test]
    fn descriptors_travel_together() {
        let (near, far) = std::os::unix::net::UnixStream::pair().expect("pair");
        let (source, sink) = io::pipe().expect("pipe");
        send(near.as_fd(), &[source.as_fd(), sink.as_fd()]).expect("send");
        let copies = receive(far.as_fd()).expect("receive");
        assert_eq!(copies.len(), 2);
        assert_eq!(inode(&copies[0]).ok(), inode(&source).ok());
        assert!(send(near.as_fd(), &[source.as_fd(); 9]).is_err());
        drop(near);
        assert_eq!(receive(far.as_fd()).expect_err("the end").kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_number_that_is_none_is_refused() {
        assert!(duplicate(1 << 20).is_err());
        assert!(duplicate(u32::MAX).is_err());
    }
}
