//! munmap, mprotect, mremap, mmap, brk, ftruncate and their relatives: after them, all threads forget what they know of
//! the program's memory.

use std::ffi::{c_char, c_int, c_void};

use libc::off_t;

use crate::errno::CResult;
use crate::known;
use crate::next::next;

impl CResult for *mut c_void {
    const FAILED: *mut c_void = libc::MAP_FAILED;
}

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_char, c_int, c_void, next, off_t};

    next! {
        munmap(address: *mut c_void, len: usize) -> c_int;
        mprotect(address: *mut c_void, len: usize, access: c_int) -> c_int;
        mremap(address: *mut c_void, len: usize, to: usize, flags: c_int, place: *mut c_void) -> *mut c_void;
        mmap(address: *mut c_void, len: usize, access: c_int, kind: c_int, file: c_int, from: off_t) -> *mut c_void;
        mmap64(address: *mut c_void, len: usize, access: c_int, kind: c_int, file: c_int, from: off_t) -> *mut c_void;
        shmdt(address: *const c_void) -> c_int;
        shmat(segment: c_int, address: *const c_void, flags: c_int) -> *mut c_void;
        pkey_mprotect(address: *mut c_void, len: usize, access: c_int, key: c_int) -> c_int;
        remap_file_pages(address: *mut c_void, len: usize, access: c_int, page: usize, flags: c_int) -> c_int;
        brk(end: *mut c_void) -> c_int;
        sbrk(more: isize) -> *mut c_void;
        ftruncate(fd: c_int, len: off_t) -> c_int;
        ftruncate64(fd: c_int, len: off_t) -> c_int;
        truncate(path: *const c_char, len: off_t) -> c_int;
        truncate64(path: *const c_char, len: off_t) -> c_int;
    }
}

macro_rules! forgetting {
    ($($name:ident = $real:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            /// Calls the function of the next library, and makes all threads forget what they know of the program's
            /// memory.
            ///
            /// # Safety
            /// The memory that is changed is the program's, and is used no more in a way that is now forbidden.
            /// Pointers are as this function's man page requires.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                // SAFETY: the caller promises that the memory is the program's to change, and pointers are as this
                // function's man page requires.
                let done = unsafe { real::$real($($argument),*) };
                known::changed();
                done
            }
        )*
    };
}

forgetting! {
    hw_c_munmap = munmap(address: *mut c_void, len: usize) -> c_int;
    hw_c_mprotect = mprotect(address: *mut c_void, len: usize, access: c_int) -> c_int;
    hw_c_mremap = mremap(address: *mut c_void, len: usize, to: usize, flags: c_int, place: *mut c_void) -> *mut c_void;
    hw_c_shmdt = shmdt(address: *const c_void) -> c_int;
    hw_c_shmat = shmat(segment: c_int, address: *const c_void, flags: c_int) -> *mut c_void;
    hw_c_pkey_mprotect = pkey_mprotect(address: *mut c_void, len: usize, access: c_int, key: c_int) -> c_int;
    hw_c_remap_file_pages = remap_file_pages(address: *mut c_void, len: usize, access: c_int, page: usize, flags: c_int) -> c_int;
    hw_c_brk = brk(end: *mut c_void) -> c_int;
    hw_c_sbrk = sbrk(more: isize) -> *mut c_void;
    hw_c_ftruncate = ftruncate(fd: c_int, len: off_t) -> c_int;
    hw_c_ftruncate64 = ftruncate64(fd: c_int, len: off_t) -> c_int;
    hw_c_truncate = truncate(path: *const c_char, len: off_t) -> c_int;
    hw_c_truncate64 = truncate64(path: *const c_char, len: off_t) -> c_int;
}

macro_rules! mapping {
    ($($name:ident = $real:ident;)*) => {
        $(
            /// mmap(2). All threads forget what they know of the program's memory if the call may have replaced a
            /// mapping.
            ///
            /// # Safety
            /// With MAP_FIXED, the `len` bytes at `address` are the program's to replace.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                address: *mut c_void,
                len: usize,
                access: c_int,
                kind: c_int,
                file: c_int,
                from: off_t,
            ) -> *mut c_void {
                // SAFETY: the caller promises that with MAP_FIXED the `len` bytes at `address` are the program's to
                // replace.
                let done = unsafe { real::$real(address, len, access, kind, file, from) };
                if kind & libc::MAP_FIXED != 0 {
                    known::changed();
                }
                done
            }
        )*
    };
}

mapping! {
    hw_c_mmap = mmap;
    hw_c_mmap64 = mmap64;
}
