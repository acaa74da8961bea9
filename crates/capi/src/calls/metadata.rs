//! Calls about the file of a descriptor: its permissions, owner, times, attributes and file system. For a FIFO they are
//! made on its node in the file system: the descriptor itself is a pipe without a name, whose permissions let other
//! users of the FIFO in. For a pipe or a device they are made on the kernel's descriptor of the end.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::os::fd::AsRawFd;

use libc::{gid_t, mode_t, statfs, statfs64, statvfs, statvfs64, timespec, timeval, uid_t};

use crate::errno::{Failure, returned};
use crate::memory;
use crate::next::next;
use crate::table;

/// Calls `call` with the descriptor of a FIFO's node. Returns `None` if `fd` is no FIFO.
pub fn on_node<T: Into<i64> + TryFrom<i64>>(fd: c_int, call: impl Fn(c_int) -> T) -> Option<T> {
    at_node(fd, &|node| call(node).into()).and_then(|done| T::try_from(done).ok())
}

/// Does what [`on_node`] does, compiled once for all types.
#[inline(never)]
fn at_node(fd: c_int, call: &dyn Fn(c_int) -> i64) -> Option<i64> {
    let done = table::with(fd, |open| Ok(open.stream.node().map(|node| call(node.as_raw_fd()))));
    done.and_then(|done| done.ok().flatten())
}

/// Returns whether a path is null or empty, and so names the descriptor itself (AT_EMPTY_PATH).
pub fn is_empty(path: *const c_char) -> bool {
    // SAFETY: `memory::get` checks that `path` is readable, and any byte is a valid char.
    path.is_null() || unsafe { memory::get(path) } == Ok(0)
}

macro_rules! on_file {
    ($($name:ident = $real:ident(fd $(, $argument:ident: $type:ty)*) $(if $is_file:expr)?;)*) => {
        pub mod real {
            //! The same functions in the library behind this one ([`next`](crate::next)).
            use super::*;

            next! { $($real(fd: c_int $(, $argument: $type)*) -> c_int;)* }
        }

        $(
            /// Calls the function of the next library, on the node if `fd` is a FIFO.
            ///
            /// # Safety
            /// The pointers are as this function's man page requires.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(fd: c_int $(, $argument: $type)*) -> c_int {
                if table::is_own(fd) {
                    return returned(Err(Failure(libc::EBADF)));
                }
                // SAFETY: the caller promises that the pointers are as this function's man page requires.
                let real = |fd| unsafe { real::$real(fd $(, $argument)*) };
                let is_file = table::is_stream(fd) $(&& $is_file)?;
                let done = if is_file { on_node(fd, real) } else { None };
                done.unwrap_or_else(|| real(fd))
            }
        )*
    };
}

on_file! {
    hw_c_fchmod = fchmod(fd, mode: mode_t);
    hw_c_fchown = fchown(fd, user: uid_t, group: gid_t);
    hw_c_futimens = futimens(fd, times: *const timespec);
    hw_c_futimes = futimes(fd, times: *const timeval);
    hw_c_flock = flock(fd, operation: c_int);
    hw_c_fstatvfs = fstatvfs(fd, status: *mut statvfs);
    hw_c_fstatvfs64 = fstatvfs64(fd, status: *mut statvfs64);
    hw_c_fsetxattr = fsetxattr(fd, name: *const c_char, value: *const c_void, len: usize, flags: c_int);
    hw_c_fremovexattr = fremovexattr(fd, name: *const c_char);
    hw_c_fchmodat = fchmodat(fd, path: *const c_char, mode: mode_t, flags: c_int)
        if flags & libc::AT_EMPTY_PATH != 0 && is_empty(path);
    hw_c_fchownat = fchownat(fd, path: *const c_char, user: uid_t, group: gid_t, flags: c_int)
        if flags & libc::AT_EMPTY_PATH != 0 && is_empty(path);
    hw_c_faccessat = faccessat(fd, path: *const c_char, access: c_int, flags: c_int)
        if flags & libc::AT_EMPTY_PATH != 0 && is_empty(path);
    hw_c_linkat = linkat(fd, path: *const c_char, directory: c_int, new: *const c_char, flags: c_int)
        if flags & libc::AT_EMPTY_PATH != 0 && is_empty(path);
    hw_c_name_to_handle_at = name_to_handle_at(fd, path: *const c_char, handle: *mut c_void, mount: *mut c_int,
        flags: c_int) if flags & libc::AT_EMPTY_PATH != 0 && is_empty(path);
    hw_c_utimensat = utimensat(fd, path: *const c_char, times: *const timespec, flags: c_int)
        if path.is_null() || flags & libc::AT_EMPTY_PATH != 0 && is_empty(path);
    hw_c_futimesat = futimesat(fd, path: *const c_char, times: *const timeval) if path.is_null();
}

/// The file systems of the kernel's pipes and of its device files (linux/magic.h).
const PIPES: i64 = 0x5049_5045;
const DEVICES: i64 = 0x0102_1994;

#[inline(never)]
fn file_system(fd: c_int) -> i64 {
    let is_device = table::with(fd, |open| Ok(open.stream.minor().is_some())) == Some(Ok(true));
    if is_device { DEVICES } else { PIPES }
}

macro_rules! of_file_systems {
    ($($name:ident = $real:ident: $status:ident;)*) => {
        mod real_file_systems {
            //! The same functions in the library behind this one ([`next`](crate::next)).
            use super::*;

            next! { $($real(fd: c_int, status: *mut $status) -> c_int;)* }
        }

        $(
            /// Calls the function of the next library. The file system of a stream is that of pipes or devices, and not
            /// that of sockets.
            ///
            /// # Safety
            /// `status` points at a writable structure.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(fd: c_int, status: *mut $status) -> c_int {
                if table::is_own(fd) {
                    return returned(Err(Failure(libc::EBADF)));
                }
                // SAFETY: the caller promises a writable structure at `status` (fstatfs(2)).
                let real = |fd| unsafe { real_file_systems::$real(fd, status) };
                if let Some(done) = on_node(fd, real) {
                    return done;
                }
                let done = real(fd);
                if done == 0 && table::is_stream(fd) {
                    // SAFETY: the call has succeeded, so the kernel has just filled in `status`.
                    unsafe { (*status).f_type = file_system(fd) };
                }
                done
            }
        )*
    };
}

of_file_systems! {
    hw_c_fstatfs = fstatfs: statfs;
    hw_c_fstatfs64 = fstatfs64: statfs64;
}

mod real_attributes {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_char, c_int, c_void, next};

    next! {
        fgetxattr(fd: c_int, name: *const c_char, value: *mut c_void, room: usize) -> isize;
        flistxattr(fd: c_int, names: *mut c_char, room: usize) -> isize;
        isfdtype(fd: c_int, kind: c_int) -> c_int;
    }
}

/// fgetxattr(2).
///
/// # Safety
/// `name` is a string; `value` points at `room` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_fgetxattr(fd: c_int, name: *const c_char, value: *mut c_void, room: usize) -> isize {
    if table::is_own(fd) {
        return returned(Err(Failure(libc::EBADF)));
    }
    // SAFETY: the caller promises a string in `name` and `room` writable bytes at `value` (fgetxattr(2)).
    let real = |fd| unsafe { real_attributes::fgetxattr(fd, name, value, room) as i64 };
    on_node(fd, real).unwrap_or_else(|| real(fd)) as isize
}

/// flistxattr(2). A pipe and a device have no attributes, although the socket below has one.
///
/// # Safety
/// `names` points at `room` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_flistxattr(fd: c_int, names: *mut c_char, room: usize) -> isize {
    if table::is_own(fd) {
        return returned(Err(Failure(libc::EBADF)));
    }
    // SAFETY: the caller promises `room` writable bytes at `names` (flistxattr(2)).
    let real = |fd| unsafe { real_attributes::flistxattr(fd, names, room) as i64 };
    match on_node(fd, real) {
        Some(done) => done as isize,
        None if table::is_stream(fd) => 0,
        None => real(fd) as isize,
    }
}

/// isfdtype(3): whether a file has a type (S_IFMT).
///
/// # Safety
/// Safe for any `fd`: no pointer is passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_isfdtype(fd: c_int, kind: c_int) -> c_int {
    match table::with(fd, |open| Ok(super::status::kind(open))) {
        Some(done) => returned(done.map(|found| c_int::from(found == kind as c_uint))),
        // SAFETY: no pointer is passed.
        None => unsafe { real_attributes::isfdtype(fd, kind) },
    }
}
