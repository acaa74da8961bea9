//! A process-shared pthread mutex of the kind `PTHREAD_MUTEX_NORMAL`. It never checks for its owner: locking it twice
//! in one thread waits for ever.

use std::cell::UnsafeCell;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::check;
use crate::shared::{ProcessShared, Shared};

/// A mutex of the C library in shared memory.
#[derive(Debug)]
#[doc(alias = "pthread_mutex_t")]
pub struct Mutex {
    /// Written by the pthread calls alone, in every process that maps it.
    raw: UnsafeCell<libc::pthread_mutex_t>,
}

// SAFETY: the pthread calls are specified for several threads at once.
unsafe impl Sync for Mutex {}
// SAFETY: `shared`, the only constructor, makes it process-shared and never moves it afterwards; the list pointers in it
// are used for robust mutexes only; on Linux its destruction frees nothing.
unsafe impl ProcessShared for Mutex {}

impl Mutex {
    /// A free mutex in memory of its own, which children forked later share.
    ///
    /// # Errors
    /// What `mmap(2)` or `pthread_mutex_init` reports.
    pub fn shared() -> io::Result<Shared<Mutex>> {
        let mutex = Shared::new(Mutex { raw: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER) })?;
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised by the first call, used by the next three and destroyed by the last;
        // the mutex is not shared yet, so it is initialised before its first use, where it stays.
        unsafe {
            check(libc::pthread_mutexattr_init(attributes.as_mut_ptr()))?;
            let initialised =
                check(libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_NORMAL))
                    .and_then(|()| {
                        check(libc::pthread_mutexattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED))
                    })
                    .and_then(|()| check(libc::pthread_mutex_init(mutex.raw.get(), attributes.as_ptr())));
            libc::pthread_mutexattr_destroy(attributes.as_mut_ptr());
            initialised?;
        }
        Ok(mutex)
    }

    /// Waits until it is free and takes it until the guard is dropped.
    ///
    /// # Errors
    /// What `pthread_mutex_lock` reports: nothing, for a mutex of this kind.
    #[inline]
    pub fn lock(&self) -> io::Result<MutexGuard<'_>> {
        // SAFETY: initialised in place by `shared`.
        check(unsafe { libc::pthread_mutex_lock(self.raw.get()) })?;
        Ok(MutexGuard { mutex: self, stays_in_thread: PhantomData })
    }
}

/// Holds a [`Mutex`]. It stays in its thread: only the owner may unlock.
#[derive(Debug)]
pub struct MutexGuard<'a> {
    mutex: &'a Mutex,
    stays_in_thread: PhantomData<*const ()>,
}

impl Drop for MutexGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: initialised in place, and locked by this thread: a guard is made by `lock` and cannot be sent.
        unsafe { libc::pthread_mutex_unlock(self.mutex.raw.get()) };
    }
}
