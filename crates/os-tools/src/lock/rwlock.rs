//! A process-shared pthread read-write lock. Only its writer's side is here: the gauge has no readers.

use std::cell::UnsafeCell;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::check;
use crate::shared::{ProcessShared, Shared};

/// A read-write lock of the C library in shared memory.
#[derive(Debug)]
#[doc(alias = "pthread_rwlock_t")]
pub struct RwLock {
    /// Written by the pthread calls alone, in every process that maps it.
    raw: UnsafeCell<libc::pthread_rwlock_t>,
}

// SAFETY: the pthread calls are specified for several threads at once.
unsafe impl Sync for RwLock {}
// SAFETY: `shared`, the only constructor, makes it process-shared and never moves it afterwards; it holds no pointer, and
// on Linux its destruction frees nothing.
unsafe impl ProcessShared for RwLock {}

impl RwLock {
    /// A free lock in memory of its own, which children forked later share.
    ///
    /// # Errors
    /// What `mmap(2)` or `pthread_rwlock_init` reports.
    pub fn shared() -> io::Result<Shared<RwLock>> {
        let lock = Shared::new(RwLock { raw: UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER) })?;
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised by the first call, used by the next two and destroyed by the last;
        // the lock is not shared yet, so it is initialised before its first use, where it stays.
        unsafe {
            check(libc::pthread_rwlockattr_init(attributes.as_mut_ptr()))?;
            let initialised =
                check(libc::pthread_rwlockattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED))
                    .and_then(|()| check(libc::pthread_rwlock_init(lock.raw.get(), attributes.as_ptr())));
            libc::pthread_rwlockattr_destroy(attributes.as_mut_ptr());
            initialised?;
        }
        Ok(lock)
    }

    /// Waits until it is free and takes it for writing until the guard is dropped.
    ///
    /// # Errors
    /// What `pthread_rwlock_wrlock` reports: `EDEADLK` if this thread holds it already.
    #[inline]
    pub fn write(&self) -> io::Result<WriteGuard<'_>> {
        // SAFETY: initialised in place by `shared`.
        check(unsafe { libc::pthread_rwlock_wrlock(self.raw.get()) })?;
        Ok(WriteGuard { lock: self, stays_in_thread: PhantomData })
    }
}

/// Holds an [`RwLock`] for writing. It stays in its thread: only the owner may unlock.
#[derive(Debug)]
pub struct WriteGuard<'a> {
    lock: &'a RwLock,
    stays_in_thread: PhantomData<*const ()>,
}

impl Drop for WriteGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: initialised in place, and locked by this thread: a guard is made by `write` and cannot be sent.
        unsafe { libc::pthread_rwlock_unlock(self.lock.raw.get()) };
    }
}
