//! A doorbell over a pipe: many writers send bells to many readers, and both may come and go.
//!
//! A byte in the pipe means "readable", and a full pipe means "not writable". So poll and epoll report at both ends what they
//! report for a FIFO of the kernel. All bytes are newlines. To make a full pipe writable, a reader takes all bytes but the
//! last one, so that the reading end stays readable.
//!
//! A pipe is full when all its slots are used. vmsplice(2) uses a slot for each piece, however short, so sixteen bytes fill
//! the pipe. Unlike read(2) and write(2), vmsplice(2) has a flag not to wait. That matters because O_NONBLOCK belongs to the
//! open file description, and any process that shares it may clear the flag.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::param::page_size;
use rustix::pipe::{IoSliceRaw, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, vmsplice};

use crate::descriptors::Found;
use crate::fork::held_off;

/// The number of slots of the pipe, of a page each: the kernel's default.
const SLOTS: usize = 16;
/// The number of slots of a pipe that must be writable whatever its contents are.
const SLOTS_WIDE: usize = 32;

/// The bytes of bells and of fillings. Where vmsplice(2) is refused, a filling is a whole page, because a page fills a slot.
static BELLS: [u8; 4096] = [b'\n'; 4096];

/// The largest number of calls that [`fill`] makes. It needs more than a few only if another process has enlarged the pipe.
const FILLINGS_MAX: usize = 64;
/// The largest number of reads that [`take`] makes. It would need more only if a peer writes for ever.
const READS_MAX: usize = 64;

/// Writes a bell. Returns false if the pipe has no reader. A full pipe is already readable, and the result is true.
pub(super) fn ring(pipe: BorrowedFd<'_>) -> bool {
    matches!(put(pipe, 1), Ok(()) | Err(Errno::AGAIN))
}

/// Writes a bell to the pipe of a reading end.
pub(super) fn ring_own(pipe: BorrowedFd<'_>) -> bool {
    at_other_end(pipe, OFlags::WRONLY, ring).unwrap_or(false)
}

/// Opens the other end of the pipe, calls `action` with it, and closes it. No fork happens meanwhile: a child that inherited
/// the descriptor would count as a writer, or a reader, until it ends.
fn at_other_end<T>(pipe: BorrowedFd<'_>, access: OFlags, action: impl FnOnce(BorrowedFd<'_>) -> T) -> io::Result<T> {
    held_off(|| Ok(action(Found::own(pipe).open(access | OFlags::NONBLOCK)?.as_fd())))
}

/// Fills the pipe, which was found writable. Returns whether a byte was written.
pub(super) fn fill(pipe: BorrowedFd<'_>, is_writable: impl Fn() -> io::Result<bool>) -> io::Result<bool> {
    resize(pipe, SLOTS);
    let mut filled = false;
    for _ in 0..FILLINGS_MAX {
        match put(pipe, SLOTS) {
            Ok(()) => filled = true,
            // The pipe is full, or has no reader, which poll shows.
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
    if resize(pipe, SLOTS_WIDE) {
        return Ok(());
    }
    // The user has reached the limit of pages in pipes (pipe-user-pages-soft).
    at_other_end(pipe, OFlags::RDONLY, free)?.map(drop)
}

/// Takes all bytes but the last one. Returns the number of bytes that another program has written.
pub(super) fn free(pipe: BorrowedFd<'_>) -> io::Result<usize> {
    let there = rustix::io::ioctl_fionread(pipe)? as usize;
    if there < 2 { Ok(0) } else { take(pipe, there - 1) }
}

/// Takes all bytes. Returns the number of bytes that another program has written.
pub(super) fn drain(pipe: BorrowedFd<'_>) -> io::Result<usize> {
    take(pipe, usize::MAX)
}

fn take(pipe: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    let (mut left, mut foreign) = (most, 0);
    let mut bytes = [0; 1024];
    for _ in 0..READS_MAX {
        let wanted = left.min(bytes.len());
        match get(pipe, &mut bytes[..wanted]) {
            Ok(count) => {
                foreign += bytes[..count].iter().filter(|byte| **byte != BELLS[0]).count();
                left -= count;
                if count < wanted || left == 0 {
                    break;
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(foreign)
}

/// Sets the number of slots of the pipe. Returns false if the kernel refuses it.
fn resize(pipe: BorrowedFd<'_>, slots: usize) -> bool {
    let wanted = slots * page_size();
    // Only if needed: setting the size wakes all pollers.
    fcntl_getpipe_size(pipe) == Ok(wanted) || fcntl_setpipe_size(pipe, wanted).is_ok()
}

/// Reads without waiting.
fn get(pipe: BorrowedFd<'_>, bytes: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: for a reading end the call copies to the one piece, which is valid memory.
    match unsafe { vmsplice(pipe, &[IoSliceRaw::from_slice_mut(bytes)], SpliceFlags::NONBLOCK) } {
        refused if is_refused(refused) => rustix::io::read(pipe, bytes),
        done => done,
    }
}

/// Writes one byte into each of `slots` slots, or into as many as are free. Does not wait, and raises no SIGPIPE.
fn put(pipe: BorrowedFd<'_>, slots: usize) -> Result<(), Errno> {
    let piece = || IoSliceRaw::from_slice(&BELLS[..1]);
    let pieces: [IoSliceRaw<'_>; SLOTS] = std::array::from_fn(|_| piece());
    quietly(|| {
        // SAFETY: the pipe refers to the pages of the pieces, which are read-only and never change.
        match unsafe { vmsplice(pipe, &pieces[..slots], SpliceFlags::NONBLOCK) } {
            refused if is_refused(refused) => {
                rustix::io::write(pipe, if slots == 1 { &BELLS[..1] } else { &BELLS[..] }).map(drop)
            }
            done => done.map(drop),
        }
    })
}

/// Returns whether a system call filter has refused the call.
fn is_refused(done: Result<usize, Errno>) -> bool {
    matches!(done, Err(Errno::NOSYS | Errno::PERM))
}

/// Writes to a pipe without SIGPIPE, for which the kernel has no flag. The kernel sends the signal to the writing thread. So
/// this function blocks the signal in the thread, and removes it afterwards.
pub(crate) fn quietly(write: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
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
        let written = write();
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
