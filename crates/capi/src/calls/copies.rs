//! dup, dup2, dup3: other numbers of the same stream.

use std::ffi::c_int;

use super::epoll;
use crate::errno::{Called, Failure, last, returned};
use crate::next::next;
use crate::{own, stale, table};

pub mod real {
    //! The next library's.
    use super::{c_int, next};

    next! {
        dup(number: c_int) -> c_int;
        dup2(number: c_int, other: c_int) -> c_int;
        dup3(number: c_int, other: c_int, flags: c_int) -> c_int;
    }
}

/// dup(2).
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_dup(number: c_int) -> c_int {
    match duplicate(number, 0, false) {
        Some(copy) => returned(copy),
        // SAFETY: by the caller.
        None => stale::made(unsafe { real::dup(number) }),
    }
}

/// dup2(2).
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_dup2(number: c_int, other: c_int) -> c_int {
    if !concerns(number, other) {
        // SAFETY: by the caller.
        return unsafe { real::dup2(number, other) };
    }
    if number == other {
        return if table::is_stream(number) || epoll::is_set(number) {
            number
        } else {
            returned(Err(Failure(libc::EBADF)))
        };
    }
    returned(replace(number, other, 0))
}

/// dup2(2), by another name.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___dup2(number: c_int, other: c_int) -> c_int {
    // SAFETY: by the caller.
    unsafe { hw_c_dup2(number, other) }
}

/// dup3(2).
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_dup3(number: c_int, other: c_int, flags: c_int) -> c_int {
    if !concerns(number, other) {
        // SAFETY: by the caller.
        return unsafe { real::dup3(number, other, flags) };
    }
    if number == other || flags & !libc::O_CLOEXEC != 0 {
        return returned(Err(Failure(libc::EINVAL)));
    }
    returned(replace(number, other, flags))
}

/// Whether one of the two is a stream, a set with streams, or the library's own.
#[inline]
pub fn concerns(number: c_int, other: c_int) -> bool {
    [number, other].into_iter().any(|number| table::is_stream(number) || table::is_own(number) || epoll::is_set(number))
}

/// Another number of a stream or of a set with streams, the lowest that is free from `from` on. None if it is neither.
///
/// Errors: `EMFILE`; `EINVAL` for a number beyond the process's limit.
pub fn duplicate(number: c_int, from: c_int, closed_by_exec: bool) -> Option<Called<c_int>> {
    if table::is_own(number) {
        return Some(Err(Failure(libc::EBADF)));
    }
    if epoll::is_set(number) {
        return Some(own::duplicate(number, from, closed_by_exec).inspect(|copy| epoll::copied(number, *copy)));
    }
    if !table::is_stream(number) {
        return None;
    }
    let (done, closed) =
        table::changing(|changes| (copy_stream(changes, number, from, closed_by_exec), changes.closed()));
    drop(closed);
    Some(done)
}

fn copy_stream(changes: &table::Changes, number: c_int, from: c_int, closed_by_exec: bool) -> Called<c_int> {
    let open = changes.stream(number).ok_or(Failure(libc::EBADF))?;
    let copy = own::duplicate(number, from, closed_by_exec)?;
    if copy as usize >= table::NUMBERS {
        own::close(copy);
        return Err(Failure(libc::EMFILE));
    }
    changes.add(copy, open);
    Ok(copy)
}

/// Makes `other` another number of what `number` is, in one step.
fn replace(number: c_int, other: c_int, flags: c_int) -> Called<c_int> {
    // A number of the library's own is free for the program: the library would have to move.
    if table::is_own(other) {
        return Err(Failure(libc::EBUSY));
    }
    if table::is_own(number) {
        return Err(Failure(libc::EBADF));
    }
    let (done, closed) = table::changing(|changes| {
        let open = changes.stream(number);
        if open.is_some() && other as u32 as usize >= table::NUMBERS {
            return (Err(Failure(libc::EBADF)), changes.closed());
        }
        // The kernel would keep a stream in its sets: the library has the same open file.
        if own::is_open(number) {
            epoll::forget(other);
        }
        // SAFETY: both numbers are the program's.
        let copy = || if unsafe { own::hw_own_dup3(number, other, flags) } < 0 { Err(last()) } else { Ok(()) };
        // The stream that had the number has it no more, and may be closed by that.
        let copied = changes.replace(other, open, copy);
        if copied.is_ok() {
            epoll::copied(number, other);
        }
        (copied.map(|()| other), changes.closed())
    });
    drop(closed);
    done
}
