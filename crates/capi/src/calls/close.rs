//! close, close_range and closefrom.

use std::ffi::{c_int, c_uint};

use super::epoll;
use crate::errno::set;
use crate::next::next;
use crate::{own, table, threads};

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_int, c_uint, next};

    next! {
        close(fd: c_int) -> c_int;
        close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
    }
}

/// close(2). Fails with `EBADF` on the library's own descriptors.
///
/// # Safety
/// The program owns `fd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_close(fd: c_int) -> c_int {
    if table::is_stream(fd) {
        close(fd);
        return 0;
    }
    if table::is_any() && !threads::is_in_borrowed_memory() {
        epoll::forget(fd);
    }
    if table::is_own(fd) {
        set(libc::EBADF);
        return -1;
    }
    // SAFETY: no pointer is passed; the caller promises that the program owns `fd`.
    unsafe { real::close(fd) }
}

/// close(2), under another name.
///
/// # Safety
/// The program owns `fd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c___close(fd: c_int) -> c_int {
    // SAFETY: the caller promises that the program owns `fd`.
    unsafe { hw_c_close(fd) }
}

/// Closes a descriptor of a stream. With the last one the stream is closed in this process; the close then waits for
/// the driver's queue for at most the stream's close time.
pub fn close(fd: c_int) {
    // posix_spawn closes descriptors in a child that shares its parent's memory.
    if threads::is_in_borrowed_memory() {
        own::close(fd);
        return;
    }
    let closed = table::changing(|changes| {
        if changes.stream(fd).is_some() {
            epoll::forget(fd);
            // Once the table does not know the descriptor, another thread's call on it must not reach the stream's
            // kernel descriptor.
            own::disable(fd);
            changes.remove(fd);
            own::close(fd);
        } else {
            epoll::forget(fd);
        }
        changes.closed()
    });
    drop(closed);
}

/// close_range(2).
///
/// # Safety
/// The program owns the descriptors from `first` to `last`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // SAFETY: no pointer is passed; the caller promises that the program owns the descriptors from `first` to `last`.
    let pass = |first, last| unsafe { real::close_range(first, last, flags) };
    if !table::is_any() || first > last {
        return pass(first, last);
    }
    if flags as c_uint & libc::CLOSE_RANGE_CLOEXEC != 0 {
        // exec closes a stream's own descriptors unless the program has another descriptor of the stream that exec
        // leaves open.
        return pass(first, last);
    }
    let is_in_table = |fd: c_uint| fd < table::FDS_MAX as c_uint;
    // Streams are closed first, because closing one needs its own descriptors.
    let mut fd = first;
    while fd <= last && is_in_table(fd) {
        close(fd as c_int);
        fd += 1;
    }
    // Closes what lies between the descriptors that the library still has.
    let mut from = first;
    loop {
        while from <= last && is_in_table(from) && table::is_own(from as c_int) {
            from += 1;
        }
        if from > last {
            return 0;
        }
        let mut to = from;
        while to < last && is_in_table(to + 1) && !table::is_own((to + 1) as c_int) {
            to += 1;
        }
        if !is_in_table(to + 1) {
            to = last;
        }
        if pass(from, to) != 0 {
            return -1;
        }
        if to == last {
            return 0;
        }
        from = to + 1;
    }
}

/// closefrom(3).
///
/// # Safety
/// The program owns the descriptors from `first` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_closefrom(first: c_int) {
    // SAFETY: the caller promises that the program owns the descriptors from `first` on.
    unsafe { hw_c_close_range(first.max(0) as c_uint, c_uint::MAX, 0) };
}
