//! Refuses allocations within signal handlers. It replaces the C library's allocator for this whole executable,
//! including allocations by the C library itself. A handler that interrupts another allocation would corrupt the heap
//! only once in many thousand runs; therefore every allocation in a handler is refused.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

thread_local! {
    /// Whether this thread is in a signal handler. Without a destructor, so that accessing it allocates nothing.
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body`, during which allocating and freeing are refused.
pub fn in_handler(body: impl FnOnce()) {
    let outer = IN_HANDLER.replace(true);
    body();
    IN_HANDLER.set(outer);
}

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(old: *mut c_void);
}

fn check() {
    if IN_HANDLER.get() {
        let said = b"a signal handler allocates\n";
        // SAFETY: writes bytes of a static, and ends the process at once.
        unsafe {
            libc::write(2, said.as_ptr().cast(), said.len());
            libc::abort();
        }
    }
}

// The C library permits replacing these functions; `__libc_...` are its own implementations.

#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut c_void {
    check();
    // SAFETY: as the caller asks.
    unsafe { __libc_malloc(bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    check();
    // SAFETY: as above.
    unsafe { __libc_calloc(count, bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: *mut c_void, bytes: usize) -> *mut c_void {
    check();
    // SAFETY: by the caller's contract, which is that of realloc(3).
    unsafe { __libc_realloc(old, bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(old: *mut c_void) {
    check();
    // SAFETY: by the caller's contract, which is that of free(3).
    unsafe { __libc_free(old) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, align: usize, bytes: usize) -> c_int {
    check();
    // SAFETY: by the caller's contract, which is that of posix_memalign(3).
    unsafe {
        let made = __libc_memalign(align, bytes);
        if made.is_null() {
            return libc::ENOMEM;
        }
        place.write(made);
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(align: usize, bytes: usize) -> *mut c_void {
    check();
    // SAFETY: as the caller asks.
    unsafe { __libc_memalign(align, bytes) }
}
