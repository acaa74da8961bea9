//! Locks that exclude processes as well as threads: those of the C library and of the kernel, and one of our own on a
//! futex. Called by the gauge's `sync` facility, which measures the cost of each.
//!
//! Locks in memory are made in place, in a [`Shared`](crate::shared::Shared) of its own: the C library forbids to
//! move it. Nothing here is left behind: names are gone before the constructor returns. No lock here notices that its
//! owner died; a user across processes must be able to kill the other processes.

mod futex_lock;
mod mutex;
mod record_lock;
mod rwlock;
mod semaphore;
mod system_v;

pub use futex_lock::{FutexLock, FutexLockGuard};
pub use mutex::{Mutex, MutexGuard};
pub use record_lock::{Owner, RecordLock};
pub use rwlock::{RwLock, WriteGuard};
pub use semaphore::{NamedSemaphore, Semaphore};
pub use system_v::{SystemVSemaphore, Undo};

use std::io;

/// Converts the result of a pthread function: an error number, not in `errno`.
fn check(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Converts the result of a system call: -1, and the error number in `errno`.
#[inline]
fn check_call(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Repeats a call that a signal handler interrupted.
#[inline]
fn uninterrupted(mut call: impl FnMut() -> libc::c_int) -> io::Result<()> {
    loop {
        match check_call(call()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests;
