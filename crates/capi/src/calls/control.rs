//! fcntl.

use std::ffi::c_int;

use super::{copies, epoll};
use crate::errno::{Called, Failure, returned};
use crate::next::next;
use crate::table::{self, Open};

pub mod real {
    //! The next library's.
    use super::{c_int, next};

    next! {
        fcntl(number: c_int, command: c_int, argument: usize) -> c_int;
        fcntl64(number: c_int, command: c_int, argument: usize) -> c_int;
    }
}

/// fcntl(2). The third argument is a word, of whatever type: it is passed on as it came.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_fcntl(number: c_int, command: c_int, argument: usize) -> c_int {
    match control(number, command, argument) {
        Some(done) => returned(done),
        // SAFETY: by the caller.
        None => unsafe { real::fcntl(number, command, argument) },
    }
}

/// As [`hw_c_fcntl`].
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_fcntl64(number: c_int, command: c_int, argument: usize) -> c_int {
    match control(number, command, argument) {
        Some(done) => returned(done),
        // SAFETY: by the caller.
        None => unsafe { real::fcntl64(number, command, argument) },
    }
}

/// None: the kernel does it with the descriptor (F_GETFD, F_SETFD, F_SETOWN), or it is no stream.
#[inline]
fn control(number: c_int, command: c_int, argument: usize) -> Option<Called<c_int>> {
    let is_ours = table::is_stream(number) || is_copy(command) && epoll::is_set(number);
    if !is_ours {
        return table::is_own(number).then_some(Err(Failure(libc::EBADF)));
    }
    match command {
        libc::F_DUPFD => copies::duplicate(number, argument as c_int, false),
        libc::F_DUPFD_CLOEXEC => copies::duplicate(number, argument as c_int, true),
        libc::F_GETFL => table::with(number, |open| Ok(status_flags(open))),
        libc::F_SETFL => table::with(number, |open| {
            open.stream.set_nonblocking(argument as c_int & libc::O_NONBLOCK != 0)?;
            Ok(0)
        }),
        // A stream has no length, no seals and no locks.
        libc::F_GETLK | libc::F_SETLK | libc::F_SETLKW => Some(Err(Failure(libc::EINVAL))),
        _ => None,
    }
}

fn is_copy(command: c_int) -> bool {
    matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC)
}

/// How the stream is open: the flags of open(2) that can be asked for.
pub fn status_flags(open: &Open) -> c_int {
    open.mode.flags() | if open.stream.is_nonblocking() { libc::O_NONBLOCK } else { 0 }
}
