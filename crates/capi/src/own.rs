//! The library's own calls of functions that it interposes. The Makefile renames the library's calls of `close` to
//! `hw_own_close`, and so on, so what the Rust standard library closes never passes through the program's `close`.
//! Functions that the C library makes cancellation points are replaced too, because a cancelled thread cannot be
//! unwound through Rust.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::os::fd::{AsFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use headwater_os::own_numbers;
use libc::{sockaddr, socklen_t};

use crate::errno::{Called, last};
use crate::next::next;
use crate::table;

/// Converts the result of a system call to the type that the C library's function returns.
fn answered(value: c_long) -> c_int {
    value as c_int
}

/// Closes a descriptor of the library's own.
///
/// # Safety
/// The library owns `fd`, and uses it no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_close(fd: c_int) -> c_int {
    table::forget_own(fd);
    // SAFETY: the caller promises that the library owns `fd`; no pointer is passed.
    answered(unsafe { libc::syscall(libc::SYS_close, fd) })
}

/// Makes a system call for the library itself. Unused arguments are ignored.
///
/// # Safety
/// The arguments are as the system call `number` requires.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    let result: c_long;
    // SAFETY: the caller promises that the arguments are as the system call `number` requires. The kernel changes no
    // registers but the three that are named as outputs.
    unsafe {
        std::arch::asm!("syscall", inlateout("rax") number => result, in("rdi") first, in("rsi") second, in("rdx") third,
            in("r10") fourth, in("r8") fifth, in("r9") sixth, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    // The kernel returns errors as the numbers from -4095 to -1.
    if (-4095..0).contains(&result) {
        crate::errno::set(-result as c_int);
        return -1;
    }
    result
}

#[cfg(not(target_arch = "x86_64"))]
next! {
    syscall(number: c_long, first: usize, second: usize, third: usize, fourth: usize, fifth: usize, sixth: usize) -> c_long;
}

/// Makes a system call for the library itself.
///
/// # Safety
/// The arguments are as the system call `number` requires.
#[cfg(not(target_arch = "x86_64"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    // SAFETY: the caller promises that the arguments are as the system call `number` requires.
    unsafe { syscall(number, first, second, third, fourth, fifth, sixth) }
}

macro_rules! own_calls {
    ($($name:ident = $call:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            /// Makes the system call of this name, for the library itself.
            ///
            /// # Safety
            /// The pointers are as the system call requires.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                // SAFETY: the caller promises that the pointers are as the system call requires.
                unsafe { libc::syscall(libc::$call, $($argument),*) as $result }
            }
        )*
    };
}

own_calls! {
    hw_own_read = SYS_read(fd: c_int, bytes: *mut c_void, count: usize) -> isize;
    hw_own_write = SYS_write(fd: c_int, bytes: *const c_void, count: usize) -> isize;
    hw_own_readv = SYS_readv(fd: c_int, pieces: *const libc::iovec, count: c_int) -> isize;
    hw_own_writev = SYS_writev(fd: c_int, pieces: *const libc::iovec, count: c_int) -> isize;
    hw_own_fcntl = SYS_fcntl(fd: c_int, command: c_int, argument: usize) -> c_int;
    hw_own_ioctl = SYS_ioctl(fd: c_int, request: libc::c_ulong, argument: usize) -> c_int;
    hw_own_recvmsg = SYS_recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize;
    hw_own_sendmsg = SYS_sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize;
    hw_own_munmap = SYS_munmap(address: *mut c_void, len: usize) -> c_int;
    hw_own_mprotect = SYS_mprotect(address: *mut c_void, len: usize, access: c_int) -> c_int;
    hw_own_ftruncate64 = SYS_ftruncate(fd: c_int, len: i64) -> c_int;
    hw_own_pipe2 = SYS_pipe2(fds: *mut c_int, flags: c_int) -> c_int;
    hw_own_dup3 = SYS_dup3(from: c_int, to: c_int, flags: c_int) -> c_int;
    hw_own_nanosleep = SYS_nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int;
    hw_own_fsync = SYS_fsync(fd: c_int) -> c_int;
    hw_own_fdatasync = SYS_fdatasync(fd: c_int) -> c_int;
    hw_own_dup = SYS_dup(fd: c_int) -> c_int;
    hw_own_copy_file_range = SYS_copy_file_range(from: c_int, from_offset: *mut i64, to: c_int, to_offset: *mut i64,
        len: usize, flags: c_uint) -> isize;
    hw_own_splice = SYS_splice(from: c_int, from_offset: *mut i64, to: c_int, to_offset: *mut i64, len: usize,
        flags: c_uint) -> isize;
    hw_own_sendfile64 = SYS_sendfile(out: c_int, from: c_int, offset: *mut i64, count: usize) -> isize;
    hw_own_sendfile = SYS_sendfile(out: c_int, from: c_int, offset: *mut libc::off_t, count: usize) -> isize;
    hw_own_getpeername = SYS_getpeername(fd: c_int, name: *mut sockaddr, len: *mut socklen_t) -> c_int;
    hw_own_getsockname = SYS_getsockname(fd: c_int, name: *mut sockaddr, len: *mut socklen_t) -> c_int;
    hw_own_getsockopt = SYS_getsockopt(fd: c_int, level: c_int, option: c_int, value: *mut c_void,
        len: *mut socklen_t) -> c_int;
    hw_own_setsockopt = SYS_setsockopt(fd: c_int, level: c_int, option: c_int, value: *const c_void,
        len: socklen_t) -> c_int;
    hw_own_shutdown = SYS_shutdown(fd: c_int, how: c_int) -> c_int;
    hw_own_sendmmsg = SYS_sendmmsg(fd: c_int, messages: *mut c_void, count: c_uint, flags: c_int) -> c_int;
    hw_own_recvfrom = SYS_recvfrom(fd: c_int, bytes: *mut c_void, len: usize, flags: c_int,
        from: *mut sockaddr, from_len: *mut socklen_t) -> isize;
    hw_own_sendto = SYS_sendto(fd: c_int, bytes: *const c_void, len: usize, flags: c_int,
        to: *const sockaddr, to_len: socklen_t) -> isize;
    hw_own_mmap = SYS_mmap(address: *mut c_void, len: usize, access: c_int, kind: c_int, file: c_int, from: i64)
        -> *mut c_void;
    hw_own_mmap64 = SYS_mmap(address: *mut c_void, len: usize, access: c_int, kind: c_int, file: c_int, from: i64)
        -> *mut c_void;
    hw_own_fstat = SYS_fstat(fd: c_int, status: *mut libc::stat) -> c_int;
    hw_own_fstat64 = SYS_fstat(fd: c_int, status: *mut libc::stat) -> c_int;
    hw_own_fstatat64 = SYS_newfstatat(directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int)
        -> c_int;
    hw_own_statx = SYS_statx(directory: c_int, path: *const c_char, flags: c_int, mask: c_uint,
        status: *mut libc::statx) -> c_int;
    hw_own_socket = SYS_socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    hw_own_socketpair = SYS_socketpair(domain: c_int, kind: c_int, protocol: c_int, fds: *mut c_int) -> c_int;
    hw_own_bind = SYS_bind(fd: c_int, name: *const sockaddr, len: socklen_t) -> c_int;
    hw_own_connect = SYS_connect(fd: c_int, name: *const sockaddr, len: socklen_t) -> c_int;
    hw_own_listen = SYS_listen(fd: c_int, queue: c_int) -> c_int;
    hw_own_accept = SYS_accept(fd: c_int, name: *mut sockaddr, len: *mut socklen_t) -> c_int;
    hw_own_accept4 = SYS_accept4(fd: c_int, name: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int;
    hw_own_fchmod = SYS_fchmod(fd: c_int, mode: libc::mode_t) -> c_int;
    hw_own_fchown = SYS_fchown(fd: c_int, user: libc::uid_t, group: libc::gid_t) -> c_int;
    hw_own_flock = SYS_flock(fd: c_int, operation: c_int) -> c_int;
    hw_own_linkat = SYS_linkat(from: c_int, path: *const c_char, to: c_int, new: *const c_char, flags: c_int) -> c_int;
    hw_own_utimensat = SYS_utimensat(fd: c_int, path: *const c_char, times: *const libc::timespec, flags: c_int)
        -> c_int;
    hw_own_pread64 = SYS_pread64(fd: c_int, bytes: *mut c_void, count: usize, offset: i64) -> isize;
    hw_own_pwrite64 = SYS_pwrite64(fd: c_int, bytes: *const c_void, count: usize, offset: i64) -> isize;
    hw_own_epoll_create1 = SYS_epoll_create1(flags: c_int) -> c_int;
    hw_own_eventfd = SYS_eventfd2(count: c_uint, flags: c_int) -> c_int;
    hw_own_epoll_ctl = SYS_epoll_ctl(set: c_int, operation: c_int, fd: c_int, event: *mut c_void) -> c_int;
}

/// clock_nanosleep(2) for the library itself; returns the error and leaves errno alone.
///
/// # Safety
/// `time` points at a timespec; `left` is null or points at a writable one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    // SAFETY: the caller promises that `time` is readable, and that `left` is null or writable.
    match unsafe { libc::syscall(libc::SYS_clock_nanosleep, clock, flags, time, left) } {
        0 => 0,
        _ => last().0,
    }
}

/// preadv(2) for the library itself. The kernel takes the position as two words; on a 64-bit machine it fits the first.
///
/// # Safety
/// `pieces` points at `count` iovecs, whose buffers are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_preadv(fd: c_int, pieces: *const libc::iovec, count: c_int, offset: i64) -> isize {
    // SAFETY: the caller promises `count` iovecs at `pieces`, whose buffers are writable.
    unsafe { libc::syscall(libc::SYS_preadv, fd, pieces, count, offset, 0usize) as isize }
}

/// pwritev(2) for the library itself, as [`hw_own_preadv`].
///
/// # Safety
/// `pieces` points at `count` iovecs, whose buffers are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_pwritev(fd: c_int, pieces: *const libc::iovec, count: c_int, offset: i64) -> isize {
    // SAFETY: the caller promises `count` iovecs at `pieces`, whose buffers are readable.
    unsafe { libc::syscall(libc::SYS_pwritev, fd, pieces, count, offset, 0usize) as isize }
}

/// futimens(3) for the library itself.
///
/// # Safety
/// `times` is null or points at two timespecs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_futimens(fd: c_int, times: *const libc::timespec) -> c_int {
    // SAFETY: the caller promises that `times` is null or points at two timespecs.
    unsafe { hw_own_utimensat(fd, ptr::null(), times, 0) }
}

/// epoll_wait(2) for the library itself. Some processors have only the system call with a signal mask.
///
/// # Safety
/// `events` has room for `count` events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_epoll_wait(set: c_int, events: *mut c_void, count: c_int, time_ms: c_int) -> c_int {
    let mask: *const c_void = ptr::null();
    // SAFETY: the caller promises room for `count` events at `events`. The mask is null, so its size means nothing.
    answered(unsafe { libc::syscall(libc::SYS_epoll_pwait, set, events, count, time_ms, mask, 0_usize) })
}

/// send(2) for the library itself.
///
/// # Safety
/// `bytes` points at `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_send(fd: c_int, bytes: *const c_void, len: usize, flags: c_int) -> isize {
    // SAFETY: the caller promises `len` readable bytes at `bytes`; the address is null.
    unsafe { hw_own_sendto(fd, bytes, len, flags, ptr::null(), 0) }
}

/// recv(2) for the library itself.
///
/// # Safety
/// `bytes` points at `len` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_recv(fd: c_int, bytes: *mut c_void, len: usize, flags: c_int) -> isize {
    // SAFETY: the caller promises `len` writable bytes at `bytes`; the address is null.
    unsafe { hw_own_recvfrom(fd, bytes, len, flags, ptr::null_mut(), ptr::null_mut()) }
}

/// dup2(2) for the library itself.
///
/// # Safety
/// The library owns `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_dup2(from: c_int, to: c_int) -> c_int {
    if from == to {
        return from;
    }
    // SAFETY: the caller promises that the library owns `to`; no pointer is passed.
    unsafe { hw_own_dup3(from, to, 0) }
}

next! {
    // The Rust standard library calls these to start programs; this library starts none.
    execvp(file: *const c_char, argv: *const *const c_char) -> c_int;
    posix_spawnp(pid: *mut libc::pid_t, file: *const c_char, actions: *const c_void, attributes: *const c_void,
        argv: *const *const c_char, envp: *const *const c_char) -> c_int;
}

/// execvp(3) for the library itself.
///
/// # Safety
/// `file` is a string; `argv` is an array of strings that ends with a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_execvp(file: *const c_char, argv: *const *const c_char) -> c_int {
    // SAFETY: the caller promises that `file` is a string and that `argv` ends with a null pointer.
    unsafe { execvp(file, argv) }
}

/// posix_spawnp(3) for the library itself.
///
/// # Safety
/// The pointers are as posix_spawnp(3) requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_posix_spawnp(
    pid: *mut libc::pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    argv: *const *const c_char,
    envp: *const *const c_char,
) -> c_int {
    // SAFETY: the caller promises that all pointers are as posix_spawnp(3) requires.
    unsafe { posix_spawnp(pid, file, actions, attributes, argv, envp) }
}

/// Opens a file for the library itself.
///
/// # Safety
/// `path` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_open64(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller promises that `path` is a string.
    answered(unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) })
}

/// Opens a file relative to a directory, for the library itself.
///
/// # Safety
/// `path` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_openat64(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
) -> c_int {
    // SAFETY: the caller promises that `path` is a string.
    answered(unsafe { libc::syscall(libc::SYS_openat, directory, path, flags, mode) })
}

/// poll(2) for the library itself.
///
/// # Safety
/// `polled` points at `count` writable entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_own_poll(polled: *mut libc::pollfd, count: libc::nfds_t, timeout_ms: c_int) -> c_int {
    let time =
        libc::timespec { tv_sec: (timeout_ms / 1000).into(), tv_nsec: c_long::from(timeout_ms % 1000) * 1_000_000 };
    let time = if timeout_ms < 0 { ptr::null() } else { &raw const time };
    // SAFETY: the caller promises `count` writable entries at `polled`; `time` is null or our own.
    answered(unsafe { libc::syscall(libc::SYS_ppoll, polled, count, time, ptr::null::<c_void>(), 8usize) })
}

/// Returns a new descriptor of the same open file: the lowest that is free from `from` on.
///
/// Errors: `EMFILE`, `EBADF`, `EINVAL`.
pub fn duplicate(fd: c_int, from: c_int, closed_by_exec: bool) -> Called<c_int> {
    let command = if closed_by_exec { libc::F_DUPFD_CLOEXEC } else { libc::F_DUPFD };
    // SAFETY: the call takes no pointer, and makes a new descriptor or fails.
    match unsafe { hw_own_fcntl(fd, command, from as usize) } {
        -1 => Err(last()),
        copy => Ok(copy),
    }
}

/// Closes a descriptor of the program.
pub fn close(fd: c_int) {
    // SAFETY: `fd` is one that this library has just made for the program, or that the program asks to close.
    unsafe { hw_own_close(fd) };
}

/// A descriptor of a file that can be neither read nor written; -1 if it is not opened yet.
static NO_FILE: AtomicI32 = AtomicI32::new(-1);

/// Replaces the open file of a descriptor by one that can be neither read nor written. `fd` stays taken, and a thread
/// that reads or writes there gets `EBADF`. The caller has locked the table, so no other thread does this meanwhile.
pub fn disable(fd: c_int) {
    let mut no_file = NO_FILE.load(Ordering::Relaxed);
    if no_file < 0 {
        no_file = open_no_file().map_or(-1, IntoRawFd::into_raw_fd);
        NO_FILE.store(no_file, Ordering::Relaxed);
    }
    // If there is no such file, the call fails, and `fd` stays what it was until it is closed.
    // SAFETY: the caller is about to close `fd`; no pointer is passed.
    unsafe { hw_own_dup3(no_file, fd, libc::O_CLOEXEC) };
}

fn open_no_file() -> Option<OwnedFd> {
    // SAFETY: the path is a literal string with a NUL.
    let file = unsafe { hw_own_open64(c"/".as_ptr(), libc::O_PATH | libc::O_CLOEXEC, 0) };
    // SAFETY: `file` was just opened, and nothing else owns it.
    let file = (file >= 0).then(|| unsafe { OwnedFd::from_raw_fd(file) })?;
    own_numbers::copy(file.as_fd()).ok()
}

/// Returns whether `fd` is an open file of the program.
pub fn is_open(fd: c_int) -> bool {
    // SAFETY: F_GETFD takes no pointer and changes nothing.
    !table::is_own(fd) && unsafe { hw_own_fcntl(fd, libc::F_GETFD, 0) } >= 0
}
