//! Locks that exclude processes as well as threads: those of the C library and of the kernel, and one of our own on a
//! futex. Who calls them: the gauge's `sync` facility, which measures what each costs.
//!
//! What lies in memory is made in place, in a [`Shared`](crate::shared::Shared) of its own: the C library forbids to
//! move it. Nothing here is left behind: names are gone before the constructor returns. No lock here notices that its
//! owner died; whoever uses them across processes must be able to kill the others.

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

/// What a pthread function reports: an error number as its result, not in `errno`.
fn check(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// What a system call reports: -1, and the error number in `errno`.
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
