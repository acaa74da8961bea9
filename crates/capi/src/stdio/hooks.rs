//! The functions of glibc that its stdio calls, each replaced by a hook that looks for streams first.

use std::ffi::{CStr, c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::patch::{self, Plan};
use crate::calls::{close, copies, transfer};
use crate::{table, threads};

/// The addresses of the functions' own code, in the order of [`HOOKS`].
static ORIGINAL: [AtomicPtr<c_void>; 6] = [const { AtomicPtr::new(ptr::null_mut()) }; 6];

const HOOKS: [(&CStr, *const c_void); 6] = [
    (c"read", read as *const c_void),
    (c"write", write as *const c_void),
    (c"close", close_function as *const c_void),
    (c"__close_nocancel", close_for_stdio as *const c_void),
    // freopen calls dup2 or dup3 to put the new file in the place of the old one.
    (c"dup2", dup2 as *const c_void),
    (c"dup3", dup3 as *const c_void),
];

/// Returns the address of a function of glibc. `None` if the program has not loaded glibc.
pub fn function(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: both names are strings with a NUL; RTLD_NOLOAD loads nothing.
    unsafe {
        let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() { None } else { Some(libc::dlsym(library, name.as_ptr())) }
    }
}

/// Installs all hooks. Returns whether that succeeded.
pub fn install() -> bool {
    let plan = |(name, hook): (&CStr, *const c_void)| {
        // SAFETY: `function` returns null or a function of glibc.
        Some((unsafe { Plan::new(function(name)?)? }, hook))
    };
    let Some(plans) = HOOKS.into_iter().map(plan).collect::<Option<Vec<_>>>() else { return false };
    let publish = |index: usize, original: *const c_void| ORIGINAL[index].store(original.cast_mut(), Ordering::Release);
    // SAFETY: each hook has the type of its function, and calls it by the address in ORIGINAL.
    unsafe { patch::install(&plans, publish) }.is_some()
}

/// Returns the address of a function's own code, which is stored before its hook can be called.
fn original(index: usize) -> *mut c_void {
    ORIGINAL[index].load(Ordering::Relaxed)
}

unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, count: usize) -> isize {
    if table::is_stream(fd) {
        // SAFETY: the caller promises `count` writable bytes at `buffer` (read(2)).
        return unsafe { transfer::hw_c_read(fd, buffer, count) };
    }
    // SAFETY: `original(0)` is glibc's read, of this type; the caller promises `count` writable bytes at `buffer`.
    unsafe {
        let function: unsafe extern "C" fn(c_int, *mut c_void, usize) -> isize = mem::transmute(original(0));
        function(fd, buffer, count)
    }
}

unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
    if table::is_stream(fd) {
        // SAFETY: the caller promises `count` readable bytes at `buffer` (write(2)).
        return unsafe { transfer::hw_c_write(fd, buffer, count) };
    }
    // SAFETY: `original(1)` is glibc's write, of this type; the caller promises `count` readable bytes at `buffer`.
    unsafe {
        let function: unsafe extern "C" fn(c_int, *const c_void, usize) -> isize = mem::transmute(original(1));
        function(fd, buffer, count)
    }
}

unsafe extern "C" fn close_function(fd: c_int) -> c_int {
    // SAFETY: 2 is the index of `close` in `HOOKS`.
    unsafe { close_by(2, fd) }
}

unsafe extern "C" fn close_for_stdio(fd: c_int) -> c_int {
    // SAFETY: 3 is the index of `__close_nocancel` in `HOOKS`.
    unsafe { close_by(3, fd) }
}

unsafe fn close_by(index: usize, fd: c_int) -> c_int {
    if table::is_stream(fd) {
        close::close(fd);
        return 0;
    }
    // SAFETY: the caller promises the index of a function that closes a descriptor, and all of them have this type.
    unsafe {
        let function: unsafe extern "C" fn(c_int) -> c_int = mem::transmute(original(index));
        function(fd)
    }
}

unsafe extern "C" fn dup2(fd: c_int, other: c_int) -> c_int {
    if copies::concerns(fd, other) && !threads::is_in_borrowed_memory() {
        // SAFETY: no pointer is passed; the program has asked to replace `other` (dup2(2)).
        return unsafe { copies::hw_c_dup2(fd, other) };
    }
    // SAFETY: `original(4)` is glibc's dup2, of this type; no pointer is passed.
    unsafe {
        let function: unsafe extern "C" fn(c_int, c_int) -> c_int = mem::transmute(original(4));
        function(fd, other)
    }
}

unsafe extern "C" fn dup3(fd: c_int, other: c_int, flags: c_int) -> c_int {
    if copies::concerns(fd, other) && !threads::is_in_borrowed_memory() {
        // SAFETY: no pointer is passed; the program has asked to replace `other` (dup3(2)).
        return unsafe { copies::hw_c_dup3(fd, other, flags) };
    }
    // SAFETY: `original(5)` is glibc's dup3, of this type; no pointer is passed.
    unsafe {
        let function: unsafe extern "C" fn(c_int, c_int, c_int) -> c_int = mem::transmute(original(5));
        function(fd, other, flags)
    }
}
