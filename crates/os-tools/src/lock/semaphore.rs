//! POSIX semaphores: one in memory that we map, and one that the C library maps from a name. A semaphore has no owner;
//! any thread may post.

use std::cell::UnsafeCell;
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::{check_call, uninterrupted};
use crate::shared::{ProcessShared, Shared};

/// A semaphore in shared memory.
#[derive(Debug)]
#[doc(alias = "sem_t")]
pub struct Semaphore {
    /// Written by the `sem_` calls alone, in every process that maps it.
    raw: UnsafeCell<MaybeUninit<libc::sem_t>>,
}

// SAFETY: the calls are specified for several threads at once.
unsafe impl Sync for Semaphore {}
// SAFETY: `shared`, the only constructor, makes it process-shared and never moves it afterwards; it holds no pointer, and
// on Linux its destruction frees nothing.
unsafe impl ProcessShared for Semaphore {}

impl Semaphore {
    /// A semaphore with the value `initial` in memory of its own, which children forked later share.
    ///
    /// # Errors
    /// What `mmap(2)` or `sem_init` reports: `EINVAL` for a value beyond `SEM_VALUE_MAX`.
    pub fn shared(initial: u32) -> io::Result<Shared<Semaphore>> {
        let semaphore = Shared::new(Semaphore { raw: UnsafeCell::new(MaybeUninit::zeroed()) })?;
        // SAFETY: it is not shared yet, so it is initialised before its first use, where it stays.
        check_call(unsafe { libc::sem_init(semaphore.raw.get().cast(), 1, initial) })?;
        Ok(semaphore)
    }

    /// Waits until the value is above 0 and takes 1.
    ///
    /// # Errors
    /// What `sem_wait` reports.
    #[inline]
    pub fn wait(&self) -> io::Result<()> {
        // SAFETY: initialised in place by `shared`.
        uninterrupted(|| unsafe { libc::sem_wait(self.raw.get().cast()) })
    }

    /// Adds 1 and wakes a waiter.
    ///
    /// # Errors
    /// What `sem_post` reports: `EOVERFLOW`.
    #[inline]
    pub fn post(&self) -> io::Result<()> {
        // SAFETY: initialised in place by `shared`.
        check_call(unsafe { libc::sem_post(self.raw.get().cast()) })
    }
}

/// A semaphore that was opened by name. The name is gone: only children forked later share it.
#[derive(Debug)]
pub struct NamedSemaphore {
    /// In a shared mapping of the C library, which a forked child inherits.
    raw: NonNull<libc::sem_t>,
}

// SAFETY: the calls are specified for several threads at once, and any thread may close it.
unsafe impl Send for NamedSemaphore {}
// SAFETY: as above.
unsafe impl Sync for NamedSemaphore {}

impl NamedSemaphore {
    /// Creates a semaphore under `name` (without the leading slash) and removes the name at once.
    ///
    /// # Errors
    /// What `sem_open` reports: `EEXIST` if there is one of that name, `ENOENT` or `EACCES` without a usable
    /// `/dev/shm`.
    pub fn create_unlinked(name: &str, initial: u32) -> io::Result<NamedSemaphore> {
        let name = CString::new(format!("/{name}"))?;
        let mode: libc::c_uint = 0o600;
        // SAFETY: the name is a C string; the mode and value are the variable arguments that O_CREAT asks for.
        let raw = unsafe { libc::sem_open(name.as_ptr(), libc::O_CREAT | libc::O_EXCL, mode, initial) };
        if raw == libc::SEM_FAILED {
            return Err(io::Error::last_os_error());
        }
        let raw = NonNull::new(raw).ok_or(io::ErrorKind::InvalidData)?;
        let semaphore = NamedSemaphore { raw };
        // SAFETY: as above. If it fails, `semaphore` is closed on the way out.
        check_call(unsafe { libc::sem_unlink(name.as_ptr()) })?;
        Ok(semaphore)
    }

    /// Waits until the value is above 0 and takes 1.
    ///
    /// # Errors
    /// What `sem_wait` reports.
    #[inline]
    pub fn wait(&self) -> io::Result<()> {
        // SAFETY: open until `drop`.
        uninterrupted(|| unsafe { libc::sem_wait(self.raw.as_ptr()) })
    }

    /// Adds 1 and wakes a waiter.
    ///
    /// # Errors
    /// What `sem_post` reports: `EOVERFLOW`.
    #[inline]
    pub fn post(&self) -> io::Result<()> {
        // SAFETY: open until `drop`.
        check_call(unsafe { libc::sem_post(self.raw.as_ptr()) })
    }
}

impl Drop for NamedSemaphore {
    fn drop(&mut self) {
        // SAFETY: opened by `create_unlinked` and closed only here.
        unsafe { libc::sem_close(self.raw.as_ptr()) };
    }
}
