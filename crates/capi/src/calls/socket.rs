//! Calls for sockets and files that are not for streams. The kernel knows a stream's descriptor as a socket, which a
//! program must not use as one. So these calls fail as on a FIFO.

use std::ffi::{c_int, c_uint, c_void};

use libc::{off_t, off64_t, sockaddr, socklen_t};

use crate::errno::{Failure, returned};
use crate::next::next;
use crate::stale::created;
use crate::table;

macro_rules! refused {
    ($($errno:ident: $name:ident = $real:ident($fd:ident: c_int $(, $argument:ident: $type:ty)*) -> $result:ty;)*) => {
        pub mod real {
            //! The same functions in the library behind this one ([`next`](crate::next)).
            use super::*;

            next! { $($real($fd: c_int $(, $argument: $type)*) -> $result;)* }
        }

        $(
            /// Calls the function of the next library, or fails on a stream.
            ///
            /// # Safety
            /// The pointers are as this function's man page requires.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($fd: c_int $(, $argument: $type)*) -> $result {
                if table::is_stream($fd) {
                    return returned(Err(Failure(libc::$errno)));
                }
                if table::is_own($fd) {
                    return returned(Err(Failure(libc::EBADF)));
                }
                // SAFETY: the caller promises that the pointers are as this function's man page requires.
                unsafe { real::$real($fd $(, $argument)*) }
            }
        )*
    };
}

refused! {
    ENOTSOCK: hw_c_send = send(fd: c_int, bytes: *const c_void, len: usize, flags: c_int) -> isize;
    ENOTSOCK: hw_c_recv = recv(fd: c_int, bytes: *mut c_void, len: usize, flags: c_int) -> isize;
    ENOTSOCK: hw_c_sendto = sendto(fd: c_int, bytes: *const c_void, len: usize, flags: c_int,
        to: *const sockaddr, to_len: socklen_t) -> isize;
    ENOTSOCK: hw_c_recvfrom = recvfrom(fd: c_int, bytes: *mut c_void, len: usize, flags: c_int,
        from: *mut sockaddr, from_len: *mut socklen_t) -> isize;
    ENOTSOCK: hw_c_shutdown = shutdown(fd: c_int, how: c_int) -> c_int;
    ENOTSOCK: hw_c_setsockopt = setsockopt(fd: c_int, level: c_int, option: c_int, value: *const c_void,
        len: socklen_t) -> c_int;
    ENOTSOCK: hw_c_getsockopt = getsockopt(fd: c_int, level: c_int, option: c_int, value: *mut c_void,
        len: *mut socklen_t) -> c_int;
    ENOTSOCK: hw_c_getsockname = getsockname(fd: c_int, name: *mut sockaddr, len: *mut socklen_t) -> c_int;
    ENOTSOCK: hw_c_getpeername = getpeername(fd: c_int, name: *mut sockaddr, len: *mut socklen_t) -> c_int;
    ENOTSOCK: hw_c___send = __send(fd: c_int, bytes: *const c_void, len: usize, flags: c_int) -> isize;
    ENOTSOCK: hw_c___recv_chk = __recv_chk(fd: c_int, bytes: *mut c_void, len: usize, room: usize, flags: c_int)
        -> isize;
    ENOTSOCK: hw_c___recvfrom_chk = __recvfrom_chk(fd: c_int, bytes: *mut c_void, len: usize, room: usize, flags: c_int,
        from: *mut sockaddr, from_len: *mut socklen_t) -> isize;
    ENOTSOCK: hw_c_bind = bind(fd: c_int, name: *const sockaddr, len: socklen_t) -> c_int;
    ENOTSOCK: hw_c_connect = connect(fd: c_int, name: *const sockaddr, len: socklen_t) -> c_int;
    ENOTSOCK: hw_c___connect = __connect(fd: c_int, name: *const sockaddr, len: socklen_t) -> c_int;
    ENOTSOCK: hw_c_listen = listen(fd: c_int, queue: c_int) -> c_int;
    ENOTTY: hw_c_sockatmark = sockatmark(fd: c_int) -> c_int;
    EINVAL: hw_c_vmsplice = vmsplice(fd: c_int, pieces: *const c_void, count: usize, flags: c_uint) -> isize;
}

macro_rules! accepting {
    ($($name:ident = $real:ident($($argument:ident: $type:ty),*);)*) => {
        pub mod real_accepting {
            //! The same functions in the library behind this one ([`next`](crate::next)).
            use super::*;

            next! { $($real(fd: c_int, $($argument: $type),*) -> c_int;)* }
        }

        $(
            /// Calls the function of the next library, or fails on a stream.
            ///
            /// # Safety
            /// `name` is null, or it and `len` point at writable memory, as accept(2) requires.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(fd: c_int, $($argument: $type),*) -> c_int {
                if table::is_stream(fd) {
                    return returned(Err(Failure(libc::ENOTSOCK)));
                }
                if table::is_own(fd) {
                    return returned(Err(Failure(libc::EBADF)));
                }
                // SAFETY: the caller promises that `name` is null, or that it and `len` are writable (accept(2)).
                created(unsafe { real_accepting::$real(fd, $($argument),*) })
            }
        )*
    };
}

accepting! {
    hw_c_accept = accept(name: *mut sockaddr, len: *mut socklen_t);
    hw_c_accept4 = accept4(name: *mut sockaddr, len: *mut socklen_t, flags: c_int);
}

macro_rules! refused_pairs {
    ($($name:ident = $real:ident($one:ident, $other:ident; $($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        pub mod real_pairs {
            //! The same functions in the library behind this one ([`next`](crate::next)).
            use super::*;

            next! { $($real($($argument: $type),*) -> $result;)* }
        }

        $(
            /// Calls the function of the next library, or fails with `EINVAL` if one of the two descriptors is a
            /// stream.
            ///
            /// # Safety
            /// Each pointer to an offset is null or points at a writable offset.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                if [$one, $other].into_iter().any(table::is_own) {
                    return returned(Err(Failure(libc::EBADF)));
                }
                if [$one, $other].into_iter().any(table::is_stream) {
                    return returned(Err(Failure(libc::EINVAL)));
                }
                // SAFETY: the caller promises that each pointer to an offset is null or writable.
                unsafe { real_pairs::$real($($argument),*) }
            }
        )*
    };
}

refused_pairs! {
    hw_c_sendfile = sendfile(out, from; out: c_int, from: c_int, offset: *mut off_t, count: usize) -> isize;
    hw_c_sendfile64 = sendfile64(out, from; out: c_int, from: c_int, offset: *mut off64_t, count: usize) -> isize;
    hw_c_splice = splice(from, to; from: c_int, from_offset: *mut off64_t, to: c_int, to_offset: *mut off64_t,
        len: usize, flags: c_uint) -> isize;
    hw_c_tee = tee(from, to; from: c_int, to: c_int, len: usize, flags: c_uint) -> isize;
    hw_c_copy_file_range = copy_file_range(from, to; from: c_int, from_offset: *mut off64_t, to: c_int,
        to_offset: *mut off64_t, len: usize, flags: c_uint) -> isize;
}
