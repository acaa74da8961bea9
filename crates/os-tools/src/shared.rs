//! A value in memory that forked children share with their parent: counters, flags, barriers, locks.

use std::io;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use headwater_os::futex;

/// A type whose values may lie in memory that several processes change at the same time.
///
/// # Safety
/// A type may implement it only if it is changed through shared references alone (atomics, or calls that are specified
/// to work between processes), holds no pointer into one process's memory, and needs no destructor.
pub unsafe trait ProcessShared: Sync {}

// SAFETY: atomics are changed through shared references, hold no pointer and need no destructor.
unsafe impl ProcessShared for AtomicU32 {}
// SAFETY: as above.
unsafe impl ProcessShared for AtomicU64 {}
// SAFETY: an array adds nothing to its elements.
unsafe impl<T: ProcessShared, const N: usize> ProcessShared for [T; N] {}

/// A value in an anonymous shared mapping of its own, alive in every process that was forked since it was made.
#[derive(Debug)]
pub struct Shared<T: ProcessShared> {
    place: NonNull<T>,
}

// SAFETY: a `Shared` gives out shared references only, and `ProcessShared` demands `Sync`.
unsafe impl<T: ProcessShared> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: ProcessShared> Sync for Shared<T> {}

impl<T: ProcessShared> Shared<T> {
    /// Maps memory and moves `value` into it; its pages are touched, so that no later use faults.
    ///
    /// # Errors
    /// What `mmap(2)` reports.
    pub fn new(value: T) -> io::Result<Shared<T>> {
        const { assert!(align_of::<T>() <= 4096, "a mapping is aligned to a page") };
        // SAFETY: a fresh anonymous mapping aliases nothing; it is at least as long as T and aligned to a page.
        let place = unsafe {
            let address = mmap_anonymous(
                ptr::null_mut(),
                size_of::<T>().max(1),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::POPULATE,
            )?;
            let place = NonNull::new_unchecked(address.cast::<T>());
            place.write(value);
            place
        };
        Ok(Shared { place })
    }
}

impl<T: ProcessShared> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the mapping lives as long as `self`, and `ProcessShared` allows shared references across processes.
        unsafe { self.place.as_ref() }
    }
}

impl<T: ProcessShared> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this length; other processes keep their own.
        let _ = unsafe { munmap(self.place.as_ptr().cast(), size_of::<T>().max(1)) };
    }
}

/// A barrier at which several processes or threads wait for each other repeatedly.
#[derive(Debug, Default)]
pub struct Barrier {
    arrived: AtomicU32,
    generation: AtomicU32,
}

// SAFETY: two atomics; see above.
unsafe impl ProcessShared for Barrier {}

impl Barrier {
    /// Spinning is worth while only for about as long as a wake-up takes.
    const SPIN_NS: u64 = 20_000;

    /// Only matters after a lost wake-up, which would be a bug in the kernel or here.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Waits until `parties` have called it: spins for about 20 us, then sleeps. A process that dies in between leaves
    /// the others waiting; the harness kills them.
    pub fn wait(&self, parties: u32) {
        // Pairs with the Release in the last arrival's store below.
        let generation = self.generation.load(Ordering::Acquire);
        // The last to arrive must see what the others did before, and they what it did: AcqRel both ways.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == parties {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation.wrapping_add(1), Ordering::Release);
            let _ = futex::wake(&self.generation, u32::MAX);
            return;
        }
        let spin_until_ns = headwater_os::clock::now_ns() + Self::SPIN_NS;
        while self.generation.load(Ordering::Acquire) == generation {
            if headwater_os::clock::now_ns() < spin_until_ns {
                std::hint::spin_loop();
            } else {
                let _ = futex::wait(&self.generation, generation, Some(Self::PATIENCE));
            }
        }
    }
}
