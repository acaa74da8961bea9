//! fstat and its relatives, and isastream. To the program, a stream is a FIFO or a character device, and not the socket
//! that the kernel knows.

use std::ffi::{c_char, c_int, c_uint};
use std::os::fd::AsRawFd;

use libc::{mode_t, stat, statx as statx_t};

use super::metadata::{is_empty, on_node};
use crate::errno::{Failure, returned};
use crate::next::next;
use crate::own;
use crate::table::{self, Open};

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_char, c_int, c_uint, next, stat, statx_t};

    next! {
        fstat(fd: c_int, status: *mut stat) -> c_int;
        fstat64(fd: c_int, status: *mut stat) -> c_int;
        __fxstat(version: c_int, fd: c_int, status: *mut stat) -> c_int;
        __fxstat64(version: c_int, fd: c_int, status: *mut stat) -> c_int;
        fstatat(fd: c_int, path: *const c_char, status: *mut stat, flags: c_int) -> c_int;
        fstatat64(fd: c_int, path: *const c_char, status: *mut stat, flags: c_int) -> c_int;
        __fxstatat(version: c_int, fd: c_int, path: *const c_char, status: *mut stat, flags: c_int) -> c_int;
        __fxstatat64(version: c_int, fd: c_int, path: *const c_char, status: *mut stat, flags: c_int) -> c_int;
        statx(fd: c_int, path: *const c_char, flags: c_int, mask: c_uint, status: *mut statx_t) -> c_int;
    }
}

/// Returns 1 if the descriptor is a stream, else 0 (SUSv2).
///
/// # Safety
/// Safe for any `fd`. The function is `unsafe` because all entry points are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isastream(fd: c_int) -> c_int {
    if table::is_stream(fd) {
        return 1;
    }
    if own::is_open(fd) { 0 } else { returned(Err(Failure(libc::EBADF))) }
}

/// Returns the type of a stream's file.
pub fn kind(open: &Open) -> mode_t {
    if open.stream.minor().is_some() { libc::S_IFCHR } else { libc::S_IFIFO }
}

/// Returns the type and the permissions of a stream. The permissions are those of its socket, unless they are unset: a
/// new socket has all.
fn mode(open: &Open, of_socket: mode_t) -> mode_t {
    const UNSET: mode_t = 0o777;
    let as_opened = (if open.mode.reads { 0o400 } else { 0 }) | (if open.mode.writes { 0o200 } else { 0 });
    let permissions = match of_socket & 0o7777 {
        UNSET => as_opened,
        set => set,
    };
    kind(open) | permissions
}

/// Corrects what the kernel has stored about a stream's socket.
fn mend(fd: c_int, status: *mut stat) {
    let _ = table::with(fd, |open| {
        // A FIFO is the file at its path.
        if let Some(node) = open.stream.node() {
            // SAFETY: the caller's fstat has just succeeded with the same `status`, so it is writable.
            unsafe { libc::syscall(libc::SYS_fstat, node.as_raw_fd(), status) };
            return Ok(());
        }
        // SAFETY: the caller's fstat has just succeeded, so the kernel has filled in `status`.
        let status = unsafe { &mut *status };
        if status.st_mode & libc::S_IFMT == libc::S_IFSOCK {
            status.st_mode = mode(open, status.st_mode);
            if let Some(minor) = open.stream.minor() {
                status.st_rdev = libc::makedev(0, minor);
            }
        }
        Ok(())
    });
}

macro_rules! mended {
    ($($name:ident = $real:ident($($version:ident: c_int,)? [$fd:ident, $status:ident]);)*) => {
        $(
            /// Calls the function of the next library, and corrects the type of a stream.
            ///
            /// # Safety
            /// `status` points at a writable structure.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($version: c_int,)? $fd: c_int, $status: *mut stat) -> c_int {
                // SAFETY: the caller promises a writable structure at `status` (fstat(2)).
                let done = unsafe { real::$real($($version,)? $fd, $status) };
                if done == 0 && table::is_stream($fd) {
                    mend($fd, $status);
                }
                done
            }
        )*
    };
}

mended! {
    hw_c_fstat = fstat([fd, status]);
    hw_c_fstat64 = fstat64([fd, status]);
    hw_c___fxstat = __fxstat(version: c_int, [fd, status]);
    hw_c___fxstat64 = __fxstat64(version: c_int, [fd, status]);
}

macro_rules! mended_at {
    ($($name:ident = $real:ident($($version:ident: c_int)?);)*) => {
        $(
            /// Calls the function of the next library, and corrects the type of a stream if the path is empty
            /// (AT_EMPTY_PATH).
            ///
            /// # Safety
            /// `path` is a string; `status` points at a writable structure.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                $($version: c_int,)?
                fd: c_int,
                path: *const c_char,
                status: *mut stat,
                flags: c_int,
            ) -> c_int {
                // SAFETY: the caller promises a string in `path` and a writable structure at `status` (fstatat(2)).
                let done = unsafe { real::$real($($version,)? fd, path, status, flags) };
                if done == 0 && flags & libc::AT_EMPTY_PATH != 0 && table::is_stream(fd) && is_empty(path) {
                    mend(fd, status);
                }
                done
            }
        )*
    };
}

mended_at! {
    hw_c_fstatat = fstatat();
    hw_c_fstatat64 = fstatat64();
    hw_c___fxstatat = __fxstatat(version: c_int);
    hw_c___fxstatat64 = __fxstatat64(version: c_int);
}

/// statx(2). Corrects the type if the path is empty and the descriptor is a stream.
///
/// # Safety
/// `path` is a string; `status` points at a writable structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_statx(
    fd: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    status: *mut statx_t,
) -> c_int {
    // SAFETY: the caller promises a string in `path` and a writable structure at `status` (statx(2)).
    let real = |fd| unsafe { real::statx(fd, path, flags, mask, status) };
    let is_itself = table::is_stream(fd) && flags & libc::AT_EMPTY_PATH != 0 && is_empty(path);
    // A FIFO is the file at its path.
    if is_itself && let Some(done) = on_node(fd, real) {
        return done;
    }
    let done = real(fd);
    if done == 0 && is_itself {
        let _ = table::with(fd, |open| {
            // SAFETY: the call has succeeded, so the kernel has filled in `status`.
            let status = unsafe { &mut *status };
            if mode_t::from(status.stx_mode) & libc::S_IFMT == libc::S_IFSOCK {
                status.stx_mode = mode(open, mode_t::from(status.stx_mode)) as u16;
                if let Some(minor) = open.stream.minor() {
                    (status.stx_rdev_major, status.stx_rdev_minor) = (0, minor);
                }
            }
            Ok(())
        });
    }
    done
}
