//! dup, dup2 and dup3: they make further descriptors of the same stream.

use std::ffi::c_int;

use super::epoll;
use crate::errno::{Called, Failure, last, returned};
use crate::next::next;
use crate::{own, stale, table};

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_int, next};

    next! {
        dup(fd: c_int) -> c_int;
        dup2(fd: c_int, other: c_int) -> c_int;
        dup3(fd: c_int, other: c_int, flags: c_int) -> c_int;
    }
}

/// dup(2).
///
/// # Safety
/// Safe for any `fd`: no pointer is passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_dup(fd: c_int) -> c_int {
    match duplicate(fd, 0, false) {
        Some(copy) => returned(copy),
        // SAFETY: no pointer is passed.
        None => stale::created(unsafe { real::dup(fd) }),
    }
}

/// dup2(2).
///
/// # Safety
/// The program owns `other`: its file is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_dup2(fd: c_int, other: c_int) -> c_int {
    if !concerns(fd, other) {
        // SAFETY: no pointer is passed; the caller promises that the program owns `other`.
        return unsafe { real::dup2(fd, other) };
    }
    if fd == other {
        return if table::is_stream(fd) || epoll::is_set(fd) { fd } else { returned(Err(Failure(libc::EBADF))) };
    }
    returned(replace(fd, other, 0))
}

/// dup2(2), under another name.
///
/// # Safety
/// The program owns `other`: its file is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___dup2(fd: c_int, other: c_int) -> c_int {
    // SAFETY: the caller promises that the program owns `other`.
    unsafe { hw_c_dup2(fd, other) }
}

/// dup3(2).
///
/// # Safety
/// The program owns `other`: its file is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_dup3(fd: c_int, other: c_int, flags: c_int) -> c_int {
    if !concerns(fd, other) {
        // SAFETY: no pointer is passed; the caller promises that the program owns `other`.
        return unsafe { real::dup3(fd, other, flags) };
    }
    if fd == other || flags & !libc::O_CLOEXEC != 0 {
        return returned(Err(Failure(libc::EINVAL)));
    }
    returned(replace(fd, other, flags))
}

/// Returns whether one of the two descriptors is a stream, an epoll set with streams, or the library's own.
#[inline]
pub fn concerns(fd: c_int, other: c_int) -> bool {
    [fd, other].into_iter().any(|fd| table::is_stream(fd) || table::is_own(fd) || epoll::is_set(fd))
}

/// Makes another descriptor of a stream or of an epoll set with streams: the lowest that is free from `from` on.
/// Returns `None` if `fd` is neither.
///
/// Errors: `EMFILE`; `EINVAL` if `from` is beyond the process's limit.
pub fn duplicate(fd: c_int, from: c_int, closed_by_exec: bool) -> Option<Called<c_int>> {
    if table::is_own(fd) {
        return Some(Err(Failure(libc::EBADF)));
    }
    if epoll::is_set(fd) {
        return Some(own::duplicate(fd, from, closed_by_exec).inspect(|copy| epoll::copied(fd, *copy)));
    }
    if !table::is_stream(fd) {
        return None;
    }
    let (done, closed) = table::changing(|changes| (copy_stream(changes, fd, from, closed_by_exec), changes.closed()));
    drop(closed);
    Some(done)
}

fn copy_stream(changes: &table::Changes, fd: c_int, from: c_int, closed_by_exec: bool) -> Called<c_int> {
    let open = changes.stream(fd).ok_or(Failure(libc::EBADF))?;
    let copy = own::duplicate(fd, from, closed_by_exec)?;
    if copy as usize >= table::FDS_MAX {
        own::close(copy);
        return Err(Failure(libc::EMFILE));
    }
    changes.add(copy, open);
    Ok(copy)
}

/// Makes `other` a descriptor of the open file of `fd`, in one step.
fn replace(fd: c_int, other: c_int, flags: c_int) -> Called<c_int> {
    // The program may take any descriptor that it does not use. If the library uses `other` itself, it would have to
    // move its own, which it cannot.
    if table::is_own(other) {
        return Err(Failure(libc::EBUSY));
    }
    if table::is_own(fd) {
        return Err(Failure(libc::EBADF));
    }
    let (done, closed) = table::changing(|changes| {
        let open = changes.stream(fd);
        if open.is_some() && other as u32 as usize >= table::FDS_MAX {
            return (Err(Failure(libc::EBADF)), changes.closed());
        }
        // Without this, the kernel would keep a stream in its epoll sets, because the library has the same open file.
        if own::is_open(fd) {
            epoll::forget(other);
        }
        // SAFETY: the program owns both descriptors; no pointer is passed.
        let copy = || if unsafe { own::hw_own_dup3(fd, other, flags) } < 0 { Err(last()) } else { Ok(()) };
        // The stream that had `other` loses it, and may be closed by that.
        let copied = changes.replace(other, open, copy);
        if copied.is_ok() {
            epoll::copied(fd, other);
        }
        (copied.map(|()| other), changes.closed())
    });
    drop(closed);
    done
}
