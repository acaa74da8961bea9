//! pread, pwrite and their relatives. A stream has no position, so they fail with `ESPIPE`, as on a FIFO. With the
//! position -1, preadv2 and pwritev2 are readv and writev with flags.

use std::ffi::{c_int, c_void};

use libc::{iovec, off_t};

use super::transfer::{readv_with, writev_with};
use crate::errno::{Called, Failure, returned};
use crate::next::next;
use crate::table;

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_int, c_void, iovec, next, off_t};

    next! {
        pread(fd: c_int, buffer: *mut c_void, count: usize, offset: off_t) -> isize;
        pread64(fd: c_int, buffer: *mut c_void, count: usize, offset: off_t) -> isize;
        __pread64(fd: c_int, buffer: *mut c_void, count: usize, offset: off_t) -> isize;
        pwrite(fd: c_int, buffer: *const c_void, count: usize, offset: off_t) -> isize;
        pwrite64(fd: c_int, buffer: *const c_void, count: usize, offset: off_t) -> isize;
        __pwrite64(fd: c_int, buffer: *const c_void, count: usize, offset: off_t) -> isize;
        __pread_chk(fd: c_int, buffer: *mut c_void, count: usize, offset: off_t, room: usize) -> isize;
        __pread64_chk(fd: c_int, buffer: *mut c_void, count: usize, offset: off_t, room: usize) -> isize;
        preadv(fd: c_int, pieces: *const iovec, count: c_int, offset: off_t) -> isize;
        preadv64(fd: c_int, pieces: *const iovec, count: c_int, offset: off_t) -> isize;
        pwritev(fd: c_int, pieces: *const iovec, count: c_int, offset: off_t) -> isize;
        pwritev64(fd: c_int, pieces: *const iovec, count: c_int, offset: off_t) -> isize;
        preadv2(fd: c_int, pieces: *const iovec, count: c_int, offset: off_t, flags: c_int) -> isize;
        preadv64v2(fd: c_int, pieces: *const iovec, count: c_int, offset: off_t, flags: c_int) -> isize;
        pwritev2(fd: c_int, pieces: *const iovec, count: c_int, offset: off_t, flags: c_int) -> isize;
        pwritev64v2(fd: c_int, pieces: *const iovec, count: c_int, offset: off_t, flags: c_int) -> isize;
    }
}

/// Returns why a call with a position fails on a stream. `None` if `fd` is no stream, and the kernel makes the call.
fn refused(fd: c_int, offset: off_t) -> Option<Failure> {
    if table::is_own(fd) {
        return Some(Failure(libc::EBADF));
    }
    table::is_stream(fd).then_some(Failure(if offset < 0 { libc::EINVAL } else { libc::ESPIPE }))
}

macro_rules! positioned {
    ($($name:ident = $real:ident($place:ident: $type:ty, $count:ident: $size:ty $(, $room:ident: usize)?);)*) => {
        $(
            /// Calls the function of the next library, or fails on a stream.
            ///
            /// # Safety
            /// The pointer is as this function's man page requires.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                fd: c_int,
                $place: $type,
                $count: $size,
                offset: off_t
                $(, $room: usize)?
            ) -> isize {
                match refused(fd, offset) {
                    Some(failure) => returned(Err(failure)),
                    // SAFETY: the caller promises that the pointer is as this function's man page requires.
                    None => unsafe { real::$real(fd, $place, $count, offset $(, $room)?) },
                }
            }
        )*
    };
}

positioned! {
    hw_c_pread = pread(buffer: *mut c_void, count: usize);
    hw_c_pread64 = pread64(buffer: *mut c_void, count: usize);
    hw_c___pread64 = __pread64(buffer: *mut c_void, count: usize);
    hw_c_pwrite = pwrite(buffer: *const c_void, count: usize);
    hw_c_pwrite64 = pwrite64(buffer: *const c_void, count: usize);
    hw_c___pwrite64 = __pwrite64(buffer: *const c_void, count: usize);
    hw_c___pread_chk = __pread_chk(buffer: *mut c_void, count: usize, room: usize);
    hw_c___pread64_chk = __pread64_chk(buffer: *mut c_void, count: usize, room: usize);
    hw_c_preadv = preadv(pieces: *const iovec, count: c_int);
    hw_c_preadv64 = preadv64(pieces: *const iovec, count: c_int);
    hw_c_pwritev = pwritev(pieces: *const iovec, count: c_int);
    hw_c_pwritev64 = pwritev64(pieces: *const iovec, count: c_int);
}

const RWF_HIPRI: c_int = 1;
const RWF_DSYNC: c_int = 2;
const RWF_SYNC: c_int = 4;
const RWF_NOWAIT: c_int = 8;
const RWF_APPEND: c_int = 0x10;
const RWF_NOAPPEND: c_int = 0x20;
/// Flags that mean nothing on a pipe. The kernel's pipe accepts them too.
const IDLE: c_int = RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_APPEND | RWF_NOAPPEND;

/// Returns whether a call with these flags must not wait.
///
/// Errors: `EOPNOTSUPP` for a flag that a stream does not know; `EINVAL` for two that exclude each other.
#[inline]
pub fn is_now(flags: c_int) -> Called<bool> {
    if flags == 0 {
        return Ok(false);
    }
    if flags & !(IDLE | RWF_NOWAIT) != 0 {
        return Err(Failure(libc::EOPNOTSUPP));
    }
    if flags & RWF_APPEND != 0 && flags & RWF_NOAPPEND != 0 {
        return Err(Failure(libc::EINVAL));
    }
    Ok(flags & RWF_NOWAIT != 0)
}

/// Reads from a stream. Returns `None` if `fd` is no stream.
#[inline(never)]
fn read_at(fd: c_int, pieces: *const iovec, count: c_int, flags: c_int) -> Option<Called<isize>> {
    table::with(fd, |open| readv_with(open, pieces, count, flags))
}

/// Writes to a stream. Returns `None` if `fd` is no stream.
#[inline(never)]
fn write_at(fd: c_int, pieces: *const iovec, count: c_int, flags: c_int) -> Option<Called<isize>> {
    table::with(fd, |open| writev_with(open, fd, pieces, count, flags))
}

macro_rules! with_flags {
    ($($name:ident = $real:ident by $call:ident;)*) => {
        $(
            /// Calls the function of the next library. On a stream, only the position -1 is valid.
            ///
            /// # Safety
            /// `pieces` points at `count` iovecs, as this function's man page requires.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                fd: c_int,
                pieces: *const iovec,
                count: c_int,
                offset: off_t,
                flags: c_int,
            ) -> isize {
                if offset == -1 && let Some(done) = $call(fd, pieces, count, flags) {
                    return returned(done);
                }
                match refused(fd, offset) {
                    Some(failure) => returned(Err(failure)),
                    // SAFETY: the caller promises `count` iovecs at `pieces`, as this function's man page requires.
                    None => unsafe { real::$real(fd, pieces, count, offset, flags) },
                }
            }
        )*
    };
}

with_flags! {
    hw_c_preadv2 = preadv2 by read_at;
    hw_c_preadv64v2 = preadv64v2 by read_at;
    hw_c_pwritev2 = pwritev2 by write_at;
    hw_c_pwritev64v2 = pwritev64v2 by write_at;
}
