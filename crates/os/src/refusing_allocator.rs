//! An allocator that ends the process if code that must not allocate uses it.
//!
//! For tests: a test program makes [`RefusingAllocator`] its global allocator, and calls such code through [`in_handler`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// True while this thread is in a signal handler, or simulates one.
    static FORBIDDEN: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator. During [`in_handler`] the thread must not use it.
#[derive(Debug)]
pub struct RefusingAllocator;

fn check() {
    static IS_REPORTED: AtomicBool = AtomicBool::new(false);
    // The first report ends the process. A signal handler that interrupts it must not report again.
    if FORBIDDEN.get() && !IS_REPORTED.swap(true, Ordering::Relaxed) {
        // A panic would allocate.
        FORBIDDEN.set(false);
        eprintln!("allocated at {}", Backtrace::force_capture());
        std::process::abort();
    }
}

// SAFETY: calls the system's allocator, or ends the process.
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

/// Calls `body`, during which this thread must neither allocate nor free memory. Calls may be nested.
pub fn in_handler<T>(body: impl FnOnce() -> T) -> T {
    let outer = FORBIDDEN.replace(true);
    let done = body();
    FORBIDDEN.set(outer);
    done
}
