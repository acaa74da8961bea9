//! Calls that give the program a new descriptor. If that descriptor was a stream, the program has closed the stream by
//! a system call of its own, and the table forgets it (`stale`).

use std::ffi::{c_char, c_int, c_uint, c_void};

use libc::{mode_t, pid_t, sigset_t};

use crate::next::next;
use crate::stale::created;

macro_rules! creating {
    ($($name:ident = $real:ident($($argument:ident: $type:ty),*);)*) => {
        pub mod real {
            //! The same functions in the library behind this one ([`next`](crate::next)).
            use super::*;

            next! {
                $($real($($argument: $type),*) -> c_int;)*
                socketpair(domain: c_int, kind: c_int, protocol: c_int, fds: *mut c_int) -> c_int;
            }
        }

        $(
            /// Calls the function of the next library, and removes what the table knew of the new descriptor.
            ///
            /// # Safety
            /// The pointers are as this function's man page requires.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                // SAFETY: the caller promises that the pointers are as this function's man page requires.
                created(unsafe { real::$real($($argument),*) })
            }
        )*
    };
}

creating! {
    hw_c_socket = socket(domain: c_int, kind: c_int, protocol: c_int);
    hw_c_epoll_create = epoll_create(size: c_int);
    hw_c_epoll_create1 = epoll_create1(flags: c_int);
    hw_c_eventfd = eventfd(count: c_uint, flags: c_int);
    hw_c_timerfd_create = timerfd_create(clock: c_int, flags: c_int);
    hw_c_signalfd = signalfd(fd: c_int, mask: *const sigset_t, flags: c_int);
    hw_c_inotify_init = inotify_init();
    hw_c_inotify_init1 = inotify_init1(flags: c_int);
    hw_c_fanotify_init = fanotify_init(flags: c_uint, event_flags: c_uint);
    hw_c_memfd_create = memfd_create(name: *const c_char, flags: c_uint);
    hw_c_pidfd_open = pidfd_open(pid: pid_t, flags: c_uint);
    hw_c_pidfd_getfd = pidfd_getfd(pidfd: c_int, target: c_int, flags: c_uint);
    hw_c_open_by_handle_at = open_by_handle_at(mount: c_int, handle: *mut c_void, flags: c_int);
    hw_c_mkstemp = mkstemp(template: *mut c_char);
    hw_c_mkstemp64 = mkstemp64(template: *mut c_char);
    hw_c_mkostemp = mkostemp(template: *mut c_char, flags: c_int);
    hw_c_mkostemp64 = mkostemp64(template: *mut c_char, flags: c_int);
    hw_c_mkstemps = mkstemps(template: *mut c_char, suffix: c_int);
    hw_c_mkstemps64 = mkstemps64(template: *mut c_char, suffix: c_int);
    hw_c_mkostemps = mkostemps(template: *mut c_char, suffix: c_int, flags: c_int);
    hw_c_mkostemps64 = mkostemps64(template: *mut c_char, suffix: c_int, flags: c_int);
    hw_c_posix_openpt = posix_openpt(flags: c_int);
    hw_c_getpt = getpt();
    hw_c_shm_open = shm_open(name: *const c_char, flags: c_int, mode: mode_t);
    hw_c_mq_open = mq_open(name: *const c_char, flags: c_int, mode: mode_t, attributes: *mut c_void);
}

/// socketpair(2).
///
/// # Safety
/// `fds` has room for two descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_socketpair(domain: c_int, kind: c_int, protocol: c_int, fds: *mut c_int) -> c_int {
    // SAFETY: the caller promises room for two descriptors at `fds` (socketpair(2)).
    let done = unsafe { real::socketpair(domain, kind, protocol, fds) };
    created_two(done, fds)
}

/// Removes what the table knew of two new descriptors, if the call that stored them has returned 0.
pub fn created_two(done: c_int, fds: *const c_int) -> c_int {
    if done == 0 && crate::table::is_any() {
        // SAFETY: the call has succeeded, so the kernel has just stored two descriptors at `fds`.
        unsafe { (created(*fds), created(*fds.add(1))) };
    }
    done
}
