//! fcntl and lockf.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use super::{asynchronous, copies, epoll};
use crate::errno::{Called, Failure, returned};
use crate::memory;
use crate::next::next;
use crate::stale;
use crate::table::{self, Open};

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_int, next};

    next! {
        fcntl(fd: c_int, command: c_int, argument: usize) -> c_int;
        fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int;
        lockf(fd: c_int, command: c_int, len: libc::off_t) -> c_int;
        lockf64(fd: c_int, command: c_int, len: libc::off_t) -> c_int;
    }
}

/// fcntl(2). The third argument is one word of whatever type; it is passed on unchanged.
///
/// # Safety
/// `argument` is as fcntl(2) requires for `command`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    match control(fd, command, argument) {
        Some(done) => returned(done),
        // SAFETY: the caller promises that `argument` is as fcntl(2) requires for `command`.
        None => created_by(command, unsafe { real::fcntl(fd, command, argument) }),
    }
}

/// fcntl64, as [`hw_c_fcntl`].
///
/// # Safety
/// `argument` is as fcntl(2) requires for `command`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
    match control(fd, command, argument) {
        Some(done) => returned(done),
        // SAFETY: the caller promises that `argument` is as fcntl(2) requires for `command`.
        None => created_by(command, unsafe { real::fcntl64(fd, command, argument) }),
    }
}

/// Notes the new descriptor, if the command was one that makes a descriptor. Returns the result of fcntl.
#[inline]
fn created_by(command: c_int, done: c_int) -> c_int {
    if is_copy(command) { stale::created(done) } else { done }
}

/// fcntl(2), under another name.
///
/// # Safety
/// `argument` is as fcntl(2) requires for `command`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller promises that `argument` is as fcntl(2) requires for `command`.
    unsafe { hw_c_fcntl(fd, command, argument) }
}

/// Makes the call on a stream. Returns `None` if `fd` is no stream, or if the kernel does it with the descriptor
/// (F_GETFD, F_SETFD, F_GETOWN).
#[inline]
fn control(fd: c_int, command: c_int, argument: usize) -> Option<Called<c_int>> {
    let is_ours = table::is_stream(fd) || is_copy(command) && epoll::is_set(fd);
    if !is_ours {
        return table::is_own(fd).then_some(Err(Failure(libc::EBADF)));
    }
    match command {
        libc::F_DUPFD => copies::duplicate(fd, argument as c_int, false),
        libc::F_DUPFD_CLOEXEC => copies::duplicate(fd, argument as c_int, true),
        libc::F_GETFL => table::with(fd, |open| Ok(status_flags(open))),
        libc::F_SETFL => table::with(fd, |open| set_status_flags(open, fd, argument as c_int)),
        // A stream has no length and no locks.
        libc::F_GETLK | libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_GETLK | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            Some(Err(EINVAL))
        }
        libc::F_GETPIPE_SZ => table::with(fd, |open| {
            open.stream
                .settings()
                .pipe_size()
                .map(|size| size.min(c_int::MAX as u32) as c_int)
                .ok_or(Failure(libc::EBADF))
        }),
        libc::F_SETPIPE_SZ => table::with(fd, |open| set_pipe_size(open, argument as u32)),
        libc::F_SETOWN | asynchronous::F_SETOWN_EX | asynchronous::F_SETSIG => {
            table::with(fd, |open| asynchronous::control(open, fd, command, argument))
        }
        _ => None,
    }
}

const EINVAL: Failure = Failure(libc::EINVAL);

fn is_copy(command: c_int) -> bool {
    matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC)
}

/// Flags that a pipe of the kernel keeps and that change nothing.
const KEPT: c_int = libc::O_APPEND | libc::O_NOATIME;

/// Returns the flags of open(2) with which the stream is open.
pub fn status_flags(open: &Open) -> c_int {
    let nonblocking = if open.stream.is_nonblocking() { libc::O_NONBLOCK } else { 0 };
    let access = if open.writer.is_some() { libc::O_RDWR } else { open.mode.flags() };
    access | nonblocking | open.flags.load(Ordering::Relaxed)
}

fn set_status_flags(open: &Open, fd: c_int, flags: c_int) -> Called<c_int> {
    // The kernel's packet mode does not exist on a stream: putmsg(3) sends messages.
    if flags & libc::O_DIRECT != 0 {
        return Err(EINVAL);
    }
    let before = open.flags.load(Ordering::Relaxed);
    if (before ^ flags) & libc::O_ASYNC != 0 {
        asynchronous::set(open, fd, flags & libc::O_ASYNC != 0)?;
    }
    open.flags.store(open.flags.load(Ordering::Relaxed) & libc::O_ASYNC | flags & KEPT, Ordering::Relaxed);
    open.set_nonblocking(flags & libc::O_NONBLOCK != 0)?;
    Ok(0)
}

/// F_SETPIPE_SZ: sets the water marks of the pipe. As in the kernel, the size is rounded up to a power of two of pages,
/// and the new size is returned.
///
/// Errors: `EINVAL` for a size that no pipe can have; `EPERM` for a size that does not fit the stream's memory; `EBADF`
/// for a device.
fn set_pipe_size(open: &Open, size: u32) -> Called<c_int> {
    if open.stream.settings().pipe_size().is_none() {
        return Err(Failure(libc::EBADF));
    }
    let size = size.max(memory::PAGE as u32).checked_next_power_of_two().filter(|size| *size <= i32::MAX as u32);
    let size = size.ok_or(EINVAL)?;
    match open.stream.settings().set_pipe_size(size) {
        Err(error) if error.errno() == headwater_streams::Errno::Inval => Err(Failure(libc::EPERM)),
        done => Ok(done.map(|()| size as c_int)?),
    }
}

/// lockf(3) and lockf64: they fail on a stream, which has no locks, as F_SETLK does.
macro_rules! without_locks {
    ($($name:ident = $real:ident;)*) => {
        $(
            /// Calls the function of the next library, or fails on a stream.
            ///
            /// # Safety
            /// Safe for any `fd`: no pointer is passed.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(fd: c_int, command: c_int, len: libc::off_t) -> c_int {
                if table::is_stream(fd) {
                    return returned(Err(EINVAL));
                }
                if table::is_own(fd) {
                    return returned(Err(Failure(libc::EBADF)));
                }
                // SAFETY: no pointer is passed.
                unsafe { real::$real(fd, command, len) }
            }
        )*
    };
}

without_locks! {
    hw_c_lockf = lockf;
    hw_c_lockf64 = lockf64;
}
