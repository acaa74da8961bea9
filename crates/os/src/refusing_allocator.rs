//! An allocator that ends the process when it is used where a signal handler may run.
//!
//! For tests: a test program makes [`RefusingAllocator`] its global allocator, and calls code that must not allocate by
//! [`in_handler`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// This thread is in a signal handler, or simulates one.
    static FORBIDDEN: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, which [`in_handler`] forbids to use.
#[derive(Debug)]
pub struct RefusingAllocator;

fn check() {
    static IS_REPORTED: AtomicBool = AtomicBool::new(false);
    // The first report ends the process. A handler that interrupts it must let it continue.
    if FORBIDDEN.get() && !IS_REPORTED.swap(true, Ordering::Relaxed) {
        // A panic would allocate.
        FORBIDDEN.set(false);
        eprintln!("allocated at {}", Backtrace::force_capture());
        std::process::abort();
    }
}

// SAFETY: does what the system's allocator does, or ends the process.
unsafe impl GlobalAlloc for RefusingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check();
        // SAFETY: as the caller has guaranteed.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        check();
        // SAFETY: as the caller has guaranteed.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Makes a call during which this thread must neither allocate nor free memory. Calls may be nested.
pub fn in_handler<T>(body: impl FnOnce() -> T) -> T {
    let outer = FORBIDDEN.replace(true);
    let done = body();
    FORBIDDEN.set(outer);
    done
}
