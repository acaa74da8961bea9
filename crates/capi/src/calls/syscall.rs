//! syscall(2): makes a system call by its number. If the call concerns a stream, the library's function of the same
//! name makes it. Any other call continues in the C library with all of its arguments, by a jump, because a child of
//! vfork(2) returns too.
//!
//! pipe2(2) by its number makes a pipe of the kernel, and other calls by their numbers that give the program a
//! descriptor are the kernel's too.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::time::Instant;

use libc::timespec;

use super::{
    close, control, copies, epoll, extent, ioctl, metadata, open, passing, poll, positioned, process, select, socket,
    status, transfer,
};
use crate::errno::{Called, Failure, returned};
use crate::memory;
use crate::next::next;
use crate::{known, stale, table};

pub mod real {
    //! The same function in the library behind this one ([`next`](crate::next)).
    use super::{c_long, next};

    next! {
        syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long;
    }
}

#[cfg(target_arch = "x86_64")]
mod entry {
    //! The entry point.

    use std::ffi::{c_long, c_void};

    use super::{concerns, hw_own_routed};
    use crate::jump::jumping;
    use crate::next::Next;
    use crate::own::hw_own_syscall;

    /// Returns where the call continues.
    extern "C" fn choose(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize) -> *const c_void {
        static NEXT: Next = Next::new(c"syscall");
        if concerns(number, [a, b, c, d, e]) {
            return hw_own_routed as *const c_void;
        }
        let next = NEXT.address();
        if next.is_null() { hw_own_syscall as *const c_void } else { next }
    }

    jumping! {
        "hw_c_syscall" => choose;
    }
}

/// syscall(2).
///
/// # Safety
/// The arguments are as the system call `number` requires.
#[cfg(not(target_arch = "x86_64"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if concerns(number, [a, b, c, d, e]) {
        // SAFETY: the caller promises that the arguments are as the system call `number` requires.
        return unsafe { hw_own_routed(number, a, b, c, d, e, f) };
    }
    // SAFETY: the caller promises that the arguments are as the system call `number` requires.
    unsafe { real::syscall(number, a, b, c, d, e, f) }
}

/// When the library makes a system call. Bits 0 to 4 name arguments that are descriptors, one of which must be known to
/// the library.
type When = u8;
const FIRST: When = 1;
const SECOND: When = 2;
const THIRD: When = 4;
/// With any arguments, if the process has a stream.
const ANY: When = 0x40;
/// With any arguments, even if the process has no stream.
const ALWAYS: When = 0x80;

// Numbers that the C library's headers may not have yet. New system calls have the same number on all processors.
const SYS_FCHMODAT2: c_long = 452;
const SYS_SETXATTRAT: c_long = 463;
const SYS_GETXATTRAT: c_long = 464;
const SYS_LISTXATTRAT: c_long = 465;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_FILE_GETATTR: c_long = 468;
const SYS_FILE_SETATTR: c_long = 469;

/// The limit of the numbers in the table: they are below it.
const CALL_NUMBERS: usize = 512;

static WHEN: [When; CALL_NUMBERS] = {
    let mut when = [0; CALL_NUMBERS];
    let mut at = 0;
    while at < ROUTED.len() {
        when[ROUTED[at].0 as usize] = ROUTED[at].1;
        at += 1;
    }
    when
};

/// Returns whether the library makes the call.
fn concerns(number: c_long, arguments: [usize; 5]) -> bool {
    let Some(when) = usize::try_from(number).ok().and_then(|number| WHEN.get(number)).copied() else { return false };
    if when == 0 {
        return false;
    }
    if when & ALWAYS != 0 {
        return true;
    }
    if !table::is_any() {
        return false;
    }
    let is_known = |fd: c_int| table::is_stream(fd) || table::is_own(fd) || epoll::is_set(fd);
    let is_named = |(at, argument): (usize, &usize)| when >> at & 1 != 0 && is_known(*argument as c_int);
    when & ANY != 0 || arguments.iter().enumerate().any(is_named)
}

/// Calls `call`, which waits for at most the program's time, and stores the time that is left, as the kernel does.
fn leaving(time: *mut timespec, call: impl FnOnce() -> c_int) -> c_int {
    let given = poll::duration(time);
    let begin = Instant::now();
    let done = call();
    if let Ok(Some(given)) = given {
        let left = given.saturating_sub(begin.elapsed());
        let before = crate::errno::last();
        let left = timespec { tv_sec: left.as_secs() as libc::time_t, tv_nsec: left.subsec_nanos().into() };
        let _ = memory::put(time, left);
        crate::errno::set(before.0);
    }
    done
}

/// Returns the mask of pselect6, which lies with its size at `pointer`.
fn mask_behind(pointer: usize) -> Called<*const libc::sigset_t> {
    if pointer == 0 {
        return Ok(std::ptr::null());
    }
    // SAFETY: `memory::get` checks that `pointer` is readable, and any bytes are two words.
    let [mask, len] = unsafe { memory::get(pointer as *const [usize; 2])? };
    checked_mask(mask, len)
}

fn checked_mask(mask: usize, len: usize) -> Called<*const libc::sigset_t> {
    if mask != 0 && len != poll::SIGNALS_BYTES {
        return Err(Failure(libc::EINVAL));
    }
    Ok(mask as *const libc::sigset_t)
}

/// Returns whether io_submit(2) has an entry for a stream. The kernel would read and write the descriptor below the
/// stream, so such a call is refused as a whole.
fn submits_stream(count: usize, places: usize) -> bool {
    /// The offset of the descriptor in a struct iocb (linux/aio_abi.h).
    const FILE: usize = 20;
    (0..count.min(1 << 16)).any(|at| {
        // SAFETY: `memory::get` checks that the entry of `places` is readable, and any bytes are a pointer.
        let place = unsafe { memory::get((places as *const usize).wrapping_add(at)) };
        // SAFETY: `memory::get` checks that the descriptor is readable, and any bytes are an int.
        let fd = place.and_then(|place| unsafe { memory::get((place + FILE) as *const c_int) });
        fd.is_ok_and(|fd| table::is_stream(fd) || table::is_own(fd))
    })
}

macro_rules! routes {
    ($($(#[$where:meta])? [$number:expr, $when:expr] |$a:pat_param, $b:pat_param, $c:pat_param, $d:pat_param, $e:pat_param, $f:pat_param| $call:expr;)*) => {
        /// The system calls that the library makes, and when.
        const ROUTED: &[(c_long, When)] = &[$($(#[$where])? ($number, $when)),*];

        /// Makes a system call of [`ROUTED`] by the library's function.
        ///
        /// # Safety
        /// The arguments are as the system call `number` requires.
        #[allow(unused_unsafe, reason = "some cases are safe")]
        pub unsafe extern "C" fn hw_own_routed(
            number: c_long,
            a: usize,
            b: usize,
            c: usize,
            d: usize,
            e: usize,
            f: usize,
        ) -> c_long {
            // The cases are compared one after the other, because they differ in their types.
            $($(#[$where])?
            {
                if number == $number {
                    let ($a, $b, $c, $d, $e, $f) = (a, b, c, d, e, f);
                    // SAFETY: the caller promises that the arguments are as the system call `number` requires, and the
                    // function has the same ones.
                    return unsafe { $call } as isize as c_long;
                }
            })*
            // SAFETY: the caller promises that the arguments are as the system call `number` requires.
            unsafe { real::syscall(number, a, b, c, d, e, f) }
        }
    };
}

/// Makes the next library's call, and makes all threads forget what they know of the program's memory.
macro_rules! changing_memory {
    ($number:expr; $($argument:expr),*) => {{
        let done = real::syscall($number, $($argument),*);
        known::changed();
        done
    }};
}

/// Makes the next library's call, which gives the program a descriptor.
macro_rules! creating {
    ($number:expr; $($argument:expr),*) => {
        stale::created(real::syscall($number, $($argument),*) as c_int)
    };
}

routes! {
    [libc::SYS_read, FIRST] |a, b, c, _, _, _| transfer::hw_c_read(a as c_int, b as *mut c_void, c);
    [libc::SYS_write, FIRST] |a, b, c, _, _, _| transfer::hw_c_write(a as c_int, b as *const c_void, c);
    [libc::SYS_readv, FIRST] |a, b, c, _, _, _| transfer::hw_c_readv(a as c_int, b as *const _, c as c_int);
    [libc::SYS_writev, FIRST] |a, b, c, _, _, _| transfer::hw_c_writev(a as c_int, b as *const _, c as c_int);
    [libc::SYS_pread64, FIRST] |a, b, c, d, _, _| positioned::hw_c_pread64(a as c_int, b as *mut c_void, c, d as i64);
    [libc::SYS_pwrite64, FIRST] |a, b, c, d, _, _| positioned::hw_c_pwrite64(a as c_int, b as *const c_void, c, d as i64);
    [libc::SYS_preadv, FIRST] |a, b, c, d, _, _| positioned::hw_c_preadv64(a as c_int, b as *const _, c as c_int, d as i64);
    [libc::SYS_pwritev, FIRST] |a, b, c, d, _, _| positioned::hw_c_pwritev64(a as c_int, b as *const _, c as c_int, d as i64);
    // The position is one word; the second word of the kernel's pair means nothing on a 64-bit machine.
    [libc::SYS_preadv2, FIRST] |a, b, c, d, _, f|
        positioned::hw_c_preadv64v2(a as c_int, b as *const _, c as c_int, d as i64, f as c_int);
    [libc::SYS_pwritev2, FIRST] |a, b, c, d, _, f|
        positioned::hw_c_pwritev64v2(a as c_int, b as *const _, c as c_int, d as i64, f as c_int);
    [libc::SYS_close, ANY] |a, _, _, _, _, _| close::hw_c_close(a as c_int);
    [libc::SYS_close_range, ANY] |a, b, c, _, _, _| close::hw_c_close_range(a as c_uint, b as c_uint, c as c_int);
    [libc::SYS_dup, ANY] |a, _, _, _, _, _| copies::hw_c_dup(a as c_int);
    #[cfg(target_arch = "x86_64")]
    [libc::SYS_dup2, FIRST | SECOND] |a, b, _, _, _, _| copies::hw_c_dup2(a as c_int, b as c_int);
    [libc::SYS_dup3, FIRST | SECOND] |a, b, c, _, _, _| copies::hw_c_dup3(a as c_int, b as c_int, c as c_int);
    [libc::SYS_fcntl, ANY] |a, b, c, _, _, _| control::hw_c_fcntl(a as c_int, b as c_int, c);
    [libc::SYS_ioctl, FIRST] |a, b, c, _, _, _| ioctl::hw_c_ioctl(a as c_int, b as u64, c);
    [libc::SYS_fstat, FIRST] |a, b, _, _, _, _| status::hw_c_fstat(a as c_int, b as *mut _);
    [libc::SYS_newfstatat, FIRST] |a, b, c, d, _, _| status::hw_c_fstatat(a as c_int, b as *const _, c as *mut _, d as c_int);
    [libc::SYS_statx, FIRST] |a, b, c, d, e, _|
        status::hw_c_statx(a as c_int, b as *const _, c as c_int, d as c_uint, e as *mut _);
    [libc::SYS_fstatfs, FIRST] |a, b, _, _, _, _| metadata::hw_c_fstatfs(a as c_int, b as *mut _);
    [libc::SYS_fchmod, FIRST] |a, b, _, _, _, _| metadata::hw_c_fchmod(a as c_int, b as u32);
    [libc::SYS_fchown, FIRST] |a, b, c, _, _, _| metadata::hw_c_fchown(a as c_int, b as u32, c as u32);
    [libc::SYS_flock, FIRST] |a, b, _, _, _, _| metadata::hw_c_flock(a as c_int, b as c_int);
    [libc::SYS_fsetxattr, FIRST] |a, b, c, d, e, _|
        metadata::hw_c_fsetxattr(a as c_int, b as *const _, c as *const c_void, d, e as c_int);
    [libc::SYS_fgetxattr, FIRST] |a, b, c, d, _, _| metadata::hw_c_fgetxattr(a as c_int, b as *const _, c as *mut c_void, d);
    [libc::SYS_flistxattr, FIRST] |a, b, c, _, _, _| metadata::hw_c_flistxattr(a as c_int, b as *mut _, c);
    [libc::SYS_fremovexattr, FIRST] |a, b, _, _, _, _| metadata::hw_c_fremovexattr(a as c_int, b as *const _);
    [libc::SYS_fchownat, FIRST] |a, b, c, d, e, _| by_node(libc::SYS_fchownat, a, b, e, [c, d, e, 0]);
    [SYS_FCHMODAT2, FIRST] |a, b, c, d, _, _| by_node(SYS_FCHMODAT2, a, b, d, [c, d, 0, 0]);
    [libc::SYS_faccessat2, FIRST] |a, b, c, d, _, _| by_node(libc::SYS_faccessat2, a, b, d, [c, d, 0, 0]);
    [libc::SYS_linkat, FIRST] |a, b, c, d, e, _| by_node(libc::SYS_linkat, a, b, e, [c, d, e, 0]);
    [libc::SYS_name_to_handle_at, FIRST] |a, b, c, d, e, _| by_node(libc::SYS_name_to_handle_at, a, b, e, [c, d, e, 0]);
    [libc::SYS_utimensat, FIRST] |a, b, c, d, _, _|
        by_node(libc::SYS_utimensat, a, b, if b == 0 { libc::AT_EMPTY_PATH as usize } else { d }, [c, d, 0, 0]);
    #[cfg(target_arch = "x86_64")]
    [libc::SYS_futimesat, FIRST] |a, b, c, _, _, _|
        by_node(libc::SYS_futimesat, a, b, if b == 0 { libc::AT_EMPTY_PATH as usize } else { 0 }, [c, 0, 0, 0]);
    [SYS_SETXATTRAT, FIRST] |a, b, c, d, e, f| by_node(SYS_SETXATTRAT, a, b, c, [c, d, e, f]);
    [SYS_GETXATTRAT, FIRST] |a, b, c, d, e, f| by_node(SYS_GETXATTRAT, a, b, c, [c, d, e, f]);
    [SYS_LISTXATTRAT, FIRST] |a, b, c, d, e, _| by_node(SYS_LISTXATTRAT, a, b, c, [c, d, e, 0]);
    [SYS_REMOVEXATTRAT, FIRST] |a, b, c, d, _, _| by_node(SYS_REMOVEXATTRAT, a, b, c, [c, d, 0, 0]);
    [SYS_FILE_GETATTR, FIRST] |a, b, c, d, e, _| by_node(SYS_FILE_GETATTR, a, b, e, [c, d, e, 0]);
    [SYS_FILE_SETATTR, FIRST] |a, b, c, d, e, _| by_node(SYS_FILE_SETATTR, a, b, e, [c, d, e, 0]);
    [libc::SYS_fallocate, FIRST] |a, b, c, d, _, _| extent::hw_c_fallocate64(a as c_int, b as c_int, c as i64, d as i64);
    [libc::SYS_fadvise64, FIRST] |a, b, c, d, _, _| {
        match extent::hw_c_posix_fadvise64(a as c_int, b as i64, c as i64, d as c_int) {
            0 => 0,
            error => returned(Err(Failure(error))),
        }
    };
    [libc::SYS_sendfile, FIRST | SECOND] |a, b, c, d, _, _|
        socket::hw_c_sendfile64(a as c_int, b as c_int, c as *mut _, d);
    [libc::SYS_splice, FIRST | THIRD] |a, b, c, d, e, f|
        socket::hw_c_splice(a as c_int, b as *mut _, c as c_int, d as *mut _, e, f as c_uint);
    [libc::SYS_tee, FIRST | SECOND] |a, b, c, d, _, _| socket::hw_c_tee(a as c_int, b as c_int, c, d as c_uint);
    [libc::SYS_vmsplice, FIRST] |a, b, c, d, _, _| socket::hw_c_vmsplice(a as c_int, b as *const _, c, d as c_uint);
    [libc::SYS_copy_file_range, FIRST | THIRD] |a, b, c, d, e, f|
        socket::hw_c_copy_file_range(a as c_int, b as *mut _, c as c_int, d as *mut _, e, f as c_uint);
    [libc::SYS_sendto, FIRST] |a, b, c, d, e, f|
        socket::hw_c_sendto(a as c_int, b as *const _, c, d as c_int, e as *const _, f as c_uint);
    [libc::SYS_recvfrom, FIRST] |a, b, c, d, e, f|
        socket::hw_c_recvfrom(a as c_int, b as *mut _, c, d as c_int, e as *mut _, f as *mut _);
    [libc::SYS_sendmsg, ANY] |a, b, c, _, _, _| passing::hw_c_sendmsg(a as c_int, b as *const _, c as c_int);
    [libc::SYS_recvmsg, ALWAYS] |a, b, c, _, _, _| passing::hw_c_recvmsg(a as c_int, b as *mut _, c as c_int);
    [libc::SYS_sendmmsg, ANY] |a, b, c, d, _, _| passing::hw_c_sendmmsg(a as c_int, b as *mut _, c as c_uint, d as c_int);
    [libc::SYS_recvmmsg, ALWAYS] |a, b, c, d, e, _|
        passing::hw_c_recvmmsg(a as c_int, b as *mut _, c as c_uint, d as c_int, e as *mut _);
    [libc::SYS_shutdown, FIRST] |a, b, _, _, _, _| socket::hw_c_shutdown(a as c_int, b as c_int);
    [libc::SYS_bind, FIRST] |a, b, c, _, _, _| socket::hw_c_bind(a as c_int, b as *const _, c as c_uint);
    [libc::SYS_connect, FIRST] |a, b, c, _, _, _| socket::hw_c_connect(a as c_int, b as *const _, c as c_uint);
    [libc::SYS_listen, FIRST] |a, b, _, _, _, _| socket::hw_c_listen(a as c_int, b as c_int);
    [libc::SYS_accept, ANY] |a, b, c, _, _, _| socket::hw_c_accept(a as c_int, b as *mut _, c as *mut _);
    [libc::SYS_accept4, ANY] |a, b, c, d, _, _| socket::hw_c_accept4(a as c_int, b as *mut _, c as *mut _, d as c_int);
    [libc::SYS_getsockname, FIRST] |a, b, c, _, _, _| socket::hw_c_getsockname(a as c_int, b as *mut _, c as *mut _);
    [libc::SYS_getpeername, FIRST] |a, b, c, _, _, _| socket::hw_c_getpeername(a as c_int, b as *mut _, c as *mut _);
    [libc::SYS_setsockopt, FIRST] |a, b, c, d, e, _|
        socket::hw_c_setsockopt(a as c_int, b as c_int, c as c_int, d as *const _, e as c_uint);
    [libc::SYS_getsockopt, FIRST] |a, b, c, d, e, _|
        socket::hw_c_getsockopt(a as c_int, b as c_int, c as c_int, d as *mut _, e as *mut _);
    #[cfg(target_arch = "x86_64")]
    [libc::SYS_poll, ANY] |a, b, c, _, _, _| poll::hw_c_poll(a as *mut _, b as u64, c as c_int);
    [libc::SYS_ppoll, ANY] |a, b, c, d, e, _| match checked_mask(d, e) {
        Ok(mask) => leaving(c as *mut timespec, || poll::hw_c_ppoll(a as *mut _, b as u64, c as *const _, mask)),
        Err(failure) => returned(Err(failure)),
    };
    #[cfg(target_arch = "x86_64")]
    [libc::SYS_select, ANY] |a, b, c, d, e, _|
        select::hw_c_select(a as c_int, b as *mut _, c as *mut _, d as *mut _, e as *mut _);
    [libc::SYS_pselect6, ANY] |a, b, c, d, e, f| match mask_behind(f) {
        Ok(mask) => leaving(e as *mut timespec, || {
            select::hw_c_pselect(a as c_int, b as *mut _, c as *mut _, d as *mut _, e as *const _, mask)
        }),
        Err(failure) => returned(Err(failure)),
    };
    [libc::SYS_epoll_ctl, FIRST | THIRD] |a, b, c, d, _, _|
        epoll::hw_c_epoll_ctl(a as c_int, b as c_int, c as c_int, d as *mut _);
    #[cfg(target_arch = "x86_64")]
    [libc::SYS_epoll_wait, ANY] |a, b, c, d, _, _| epoll::hw_c_epoll_wait(a as c_int, b as *mut _, c as c_int, d as c_int);
    [libc::SYS_epoll_pwait, ANY] |a, b, c, d, e, f| match checked_mask(e, f) {
        Ok(mask) => epoll::hw_c_epoll_pwait(a as c_int, b as *mut _, c as c_int, d as c_int, mask),
        Err(failure) => returned(Err(failure)),
    };
    [libc::SYS_epoll_pwait2, ANY] |a, b, c, d, e, f| match checked_mask(e, f) {
        Ok(mask) => epoll::hw_c_epoll_pwait2(a as c_int, b as *mut _, c as c_int, d as *const _, mask),
        Err(failure) => returned(Err(failure)),
    };
    #[cfg(target_arch = "x86_64")]
    [libc::SYS_open, ALWAYS] |a, b, c, _, _, _| open::hw_c_open(a as *const _, b as c_int, c as u32);
    [libc::SYS_openat, ALWAYS] |a, b, c, d, _, _| open::hw_c_openat(a as c_int, b as *const _, c as c_int, d as u32);
    #[cfg(target_arch = "x86_64")]
    [libc::SYS_creat, ALWAYS] |a, b, _, _, _, _| open::hw_c_creat(a as *const _, b as u32);
    [libc::SYS_openat2, ANY] |a, b, c, d, _, _| creating!(libc::SYS_openat2; a, b, c, d, 0, 0);
    [libc::SYS_execve, ANY] |a, b, c, _, _, _| process::hw_c_execve(a as *const _, b as *const _, c as *const _);
    [libc::SYS_execveat, ANY] |a, b, c, d, e, _|
        process::hw_c_execveat(a as c_int, b as *const _, c as *const _, d as *const _, e as c_int);
    [libc::SYS_io_submit, ANY] |a, b, c, _, _, _| {
        if submits_stream(b, c) {
            returned(Err(Failure(libc::EINVAL)))
        } else {
            real::syscall(libc::SYS_io_submit, a, b, c, 0, 0, 0)
        }
    };
    [libc::SYS_munmap, ANY] |a, b, _, _, _, _| changing_memory!(libc::SYS_munmap; a, b, 0, 0, 0, 0);
    [libc::SYS_mprotect, ANY] |a, b, c, _, _, _| changing_memory!(libc::SYS_mprotect; a, b, c, 0, 0, 0);
    [libc::SYS_pkey_mprotect, ANY] |a, b, c, d, _, _| changing_memory!(libc::SYS_pkey_mprotect; a, b, c, d, 0, 0);
    [libc::SYS_mremap, ANY] |a, b, c, d, e, _| changing_memory!(libc::SYS_mremap; a, b, c, d, e, 0);
    [libc::SYS_mmap, ANY] |a, b, c, d, e, f| changing_memory!(libc::SYS_mmap; a, b, c, d, e, f);
    [libc::SYS_brk, ANY] |a, _, _, _, _, _| changing_memory!(libc::SYS_brk; a, 0, 0, 0, 0, 0);
    [libc::SYS_shmat, ANY] |a, b, c, _, _, _| changing_memory!(libc::SYS_shmat; a, b, c, 0, 0, 0);
    [libc::SYS_shmdt, ANY] |a, _, _, _, _, _| changing_memory!(libc::SYS_shmdt; a, 0, 0, 0, 0, 0);
    [libc::SYS_remap_file_pages, ANY] |a, b, c, d, e, _| changing_memory!(libc::SYS_remap_file_pages; a, b, c, d, e, 0);
    [libc::SYS_truncate, ANY] |a, b, _, _, _, _| changing_memory!(libc::SYS_truncate; a, b, 0, 0, 0, 0);
    [libc::SYS_ftruncate, ANY] |a, b, _, _, _, _| changing_memory!(libc::SYS_ftruncate; a, b, 0, 0, 0, 0);
    [libc::SYS_socket, ANY] |a, b, c, _, _, _| creating!(libc::SYS_socket; a, b, c, 0, 0, 0);
    #[cfg(target_arch = "x86_64")]
    [libc::SYS_epoll_create, ANY] |a, _, _, _, _, _| creating!(libc::SYS_epoll_create; a, 0, 0, 0, 0, 0);
    [libc::SYS_epoll_create1, ANY] |a, _, _, _, _, _| creating!(libc::SYS_epoll_create1; a, 0, 0, 0, 0, 0);
    #[cfg(target_arch = "x86_64")]
    [libc::SYS_eventfd, ANY] |a, _, _, _, _, _| creating!(libc::SYS_eventfd; a, 0, 0, 0, 0, 0);
    [libc::SYS_eventfd2, ANY] |a, b, _, _, _, _| creating!(libc::SYS_eventfd2; a, b, 0, 0, 0, 0);
    [libc::SYS_timerfd_create, ANY] |a, b, _, _, _, _| creating!(libc::SYS_timerfd_create; a, b, 0, 0, 0, 0);
    [libc::SYS_signalfd4, ANY] |a, b, c, d, _, _| creating!(libc::SYS_signalfd4; a, b, c, d, 0, 0);
    [libc::SYS_inotify_init1, ANY] |a, _, _, _, _, _| creating!(libc::SYS_inotify_init1; a, 0, 0, 0, 0, 0);
    [libc::SYS_memfd_create, ANY] |a, b, _, _, _, _| creating!(libc::SYS_memfd_create; a, b, 0, 0, 0, 0);
    [libc::SYS_pidfd_open, ANY] |a, b, _, _, _, _| creating!(libc::SYS_pidfd_open; a, b, 0, 0, 0, 0);
    [libc::SYS_pidfd_getfd, ANY] |a, b, c, _, _, _| creating!(libc::SYS_pidfd_getfd; a, b, c, 0, 0, 0);
}

/// Makes a call on the file that a descriptor and an empty path name. For a FIFO that is its node.
fn by_node(number: c_long, file: usize, path: usize, flags: usize, rest: [usize; 4]) -> c_long {
    let [c, d, e, f] = rest;
    // SAFETY: the arguments are the program's, and the kernel checks them.
    let real = |file: usize| unsafe { real::syscall(number, file, path, c, d, e, f) };
    if table::is_own(file as c_int) {
        return returned(Err(Failure(libc::EBADF)));
    }
    let is_file = flags as c_int & libc::AT_EMPTY_PATH != 0 && metadata::is_empty(path as *const _);
    let done = if is_file { metadata::on_node(file as c_int, |node| real(node as usize)) } else { None };
    done.unwrap_or_else(|| real(file))
}
