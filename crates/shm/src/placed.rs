//! A value in shared memory, together with its mapping.
//!
//! Code that places structures in a region uses it. The check that a structure is inside the mapping is made once, when it is
//! placed. A use is then a plain dereference. It returns only shared references to atomics, so a hostile process that writes
//! there can corrupt values, but not the memory safety of this process.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use headwater_os::memory::{Shareable, SharedMemory};

use crate::cache_padded::CachePadded;

/// A `T` (or `[T]`) at a fixed place of a mapping. Clones share the mapping.
#[derive(Debug)]
pub struct Placed<T: ?Sized> {
    place: NonNull<T>,
    /// Keeps the mapping that `place` points into.
    memory: Arc<SharedMemory>,
}

// SAFETY: `place` points into `memory`, which is Send and Sync. Only shared references to `Shareable` values are returned.
unsafe impl<T: ?Sized> Send for Placed<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized> Sync for Placed<T> {}

impl<T: Shareable> Placed<T> {
    /// Makes a view of the `T` at `offset` bytes. Returns `None` if it is not completely inside, or not aligned.
    pub fn at(memory: &Arc<SharedMemory>, offset: usize) -> Option<Placed<T>> {
        Some(Placed { place: NonNull::from(memory.get::<T>(offset)?), memory: Arc::clone(memory) })
    }
}

impl<T: Shareable> Placed<[T]> {
    /// Makes a view of `count` values of type `T`, beginning at `offset` bytes. Returns `None` as [`Placed::at`] does.
    pub fn slice_at(memory: &Arc<SharedMemory>, offset: usize, count: usize) -> Option<Placed<[T]>> {
        let bytes = memory.bytes(offset, count.checked_mul(size_of::<T>())?)?;
        let place = NonNull::slice_from_raw_parts(bytes.cast::<T>(), count);
        bytes.cast::<T>().is_aligned().then(|| Placed { place, memory: Arc::clone(memory) })
    }
}

impl<T: ?Sized> Placed<T> {
    /// Returns a part of the value, which shares the mapping.
    pub fn part<U: ?Sized>(&self, choose: impl FnOnce(&T) -> &U) -> Placed<U> {
        Placed { place: NonNull::from(choose(self)), memory: Arc::clone(&self.memory) }
    }
}

impl<T: ?Sized> Deref for Placed<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: it was checked to be inside and aligned when it was placed. `Shareable` allows every bit pattern and writes by
        // other processes. `memory` keeps the mapping as long as `self`.
        unsafe { self.place.as_ref() }
    }
}

impl<T: ?Sized> Clone for Placed<T> {
    fn clone(&self) -> Placed<T> {
        Placed { place: self.place, memory: Arc::clone(&self.memory) }
    }
}

// SAFETY: all bytes except the padding are those of a `Shareable`.
unsafe impl<T: Shareable> Shareable for CachePadded<T> {}
