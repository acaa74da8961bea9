//! A doorbell whose two ends are those of one pipe: many writers ring at many readers, and either may come and go.
//!
//! A byte in the pipe is "something to read", and a full pipe is "no room", as with any pipe: so poll and epoll see at both ends
//! what they see of a kernel FIFO. All bytes are newlines. A full pipe is made free by taking all of it but the last byte: the
//! reading end stays readable.
//!
//! A pipe is writable while it has an unused page. A byte that is left in a full page takes that page, and the next bell
//! another one; so it has [`PAGES`], and not two.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::param::page_size;
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};

use crate::descriptors::Found;

/// Pages of the pipe.
const PAGES: usize = 4;
/// Pages of a pipe that is to be writable whatever lies there.
const PAGES_WIDE: usize = 8;

/// What is written to fill the pipe. A write of whole pages goes behind what is there, and so takes every page that is left.
static FILLING: [u8; PAGES * 4096] = [BELL; PAGES * 4096];
/// Fillings that one call writes at most. More than a few are needed only where pages are large.
const FILLINGS_MAX: usize = 256;

/// What rings, and fills.
const BELL: u8 = b'\n';

/// Reads that one call makes. More can only come of a peer that writes for ever.
const READS_MAX: usize = 64;

/// Writes a bell. True also if the pipe is full: then it says so already. False if nobody reads it.
pub(super) fn ring(pipe: BorrowedFd<'_>) -> bool {
    matches!(write_quietly(pipe, &[BELL]), Ok(_) | Err(Errno::AGAIN))
}

/// Writes a bell to the pipe of a reading end, by opening it anew.
pub(super) fn ring_own(pipe: BorrowedFd<'_>) -> bool {
    let opened = Found::own(pipe).open(OFlags::WRONLY | OFlags::NONBLOCK);
    opened.is_ok_and(|own| matches!(rustix::io::write(own, &[BELL]), Ok(_) | Err(Errno::AGAIN)))
}

/// Fills the pipe, which was found writable. Returns whether that took anything.
pub(super) fn fill(pipe: BorrowedFd<'_>, is_writable: impl Fn() -> io::Result<bool>) -> io::Result<bool> {
    resize(pipe, PAGES);
    let mut filled = false;
    for _ in 0..FILLINGS_MAX {
        match write_quietly(pipe, &FILLING) {
            Ok(_) => filled = true,
            // Full; or nobody reads it, which poll shows.
            Err(Errno::AGAIN | Errno::PIPE) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !is_writable()? {
            break;
        }
    }
    Ok(filled)
}

/// Makes a full pipe writable from its writing end.
pub(super) fn widen(pipe: BorrowedFd<'_>) -> io::Result<()> {
    if resize(pipe, PAGES_WIDE) {
        return Ok(());
    }
    // The user has as many pages in pipes as one may have (pipe-user-pages-soft).
    let own = Found::own(pipe).open(OFlags::RDONLY | OFlags::NONBLOCK)?;
    free(own.as_fd()).map(drop)
}

/// Takes everything but the last byte if the pipe may be full. Returns how many bytes were another program's.
pub(super) fn free(pipe: BorrowedFd<'_>) -> io::Result<usize> {
    let there = rustix::io::ioctl_fionread(pipe)? as usize;
    // A filling takes a page at least.
    if there < page_size() { Ok(0) } else { take(pipe, there - 1) }
}

/// Takes everything. Returns how many bytes were another program's.
pub(super) fn drain(pipe: BorrowedFd<'_>) -> io::Result<usize> {
    take(pipe, usize::MAX)
}

fn take(pipe: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    let (mut left, mut foreign) = (most, 0);
    let mut bytes = [MaybeUninit::<u8>::uninit(); PAGES * 4096];
    for _ in 0..READS_MAX {
        let wanted = left.min(bytes.len());
        match rustix::io::read(pipe, &mut bytes[..wanted]) {
            Ok((taken, _)) => {
                foreign += taken.iter().filter(|byte| **byte != BELL).count();
                left -= taken.len();
                if taken.len() < wanted || left == 0 {
                    break;
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(foreign)
}

/// Gives the pipe so many pages if it has another number of them. False if it keeps that.
fn resize(pipe: BorrowedFd<'_>, pages: usize) -> bool {
    let wanted = pages * page_size();
    // Not without need: it wakes all who poll.
    fcntl_getpipe_size(pipe) == Ok(wanted) || fcntl_setpipe_size(pipe, wanted).is_ok()
}

/// Writes without waiting, and without SIGPIPE: for pipes there is no flag for that. The kernel sends it to the thread that
/// writes, so it is blocked there and taken out again.
fn write_quietly(pipe: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set that the others change or read, and pthread_sigmask the old mask; all of them
    // write to valid places of their types.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
        let was_pending = libc::sigismember(before.as_ptr(), libc::SIGPIPE) == 1 && {
            let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigpending(pending.as_mut_ptr());
            libc::sigismember(pending.as_ptr(), libc::SIGPIPE) == 1
        };
        let written = rustix::io::write(pipe, bytes);
        if written == Err(Errno::PIPE) && !was_pending {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            while libc::sigtimedwait(set.as_ptr(), ptr::null_mut(), &now) == -1
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        written
    }
}

#[cfg(test)]
mod tests;
