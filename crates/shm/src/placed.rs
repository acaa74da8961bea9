//! A value inside shared memory, held together with the mapping that it lies in.
//!
//! Code that lays structures over a region uses it: the check that a structure lies inside is made once, when it is
//! placed, and a use is a plain dereference. It hands out shared references to atomics only, so that a hostile process
//! that
//! writes there can spoil values but not memory.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use headwater_os::memory::{Shareable, SharedMemory};

use crate::cache_padded::CachePadded;

/// A `T` (or `[T]`) at a fixed place of a mapping. Clones share the mapping.
#[derive(Debug)]
pub struct Placed<T: ?Sized> {
    place: NonNull<T>,
    /// Keeps what `place` points to.
    memory: Arc<SharedMemory>,
}

// SAFETY: `place` points into `memory`, which is Send and Sync, and gives shared references to `Shareable` values only.
unsafe impl<T: ?Sized> Send for Placed<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized> Sync for Placed<T> {}

impl<T: Shareable> Placed<T> {
    /// The `T` at `offset` bytes, or `None` if it is not wholly inside or not aligned.
    pub fn at(memory: &Arc<SharedMemory>, offset: usize) -> Option<Placed<T>> {
        Some(Placed { place: NonNull::from(memory.get::<T>(offset)?), memory: Arc::clone(memory) })
    }
}

impl<T: Shareable> Placed<[T]> {
    /// `count` of `T` one after the other from `offset` bytes on, or `None` as for a single one.
    pub fn slice_at(memory: &Arc<SharedMemory>, offset: usize, count: usize) -> Option<Placed<[T]>> {
        let bytes = memory.bytes(offset, count.checked_mul(size_of::<T>())?)?;
        let place = NonNull::slice_from_raw_parts(bytes.cast::<T>(), count);
        bytes.cast::<T>().is_aligned().then(|| Placed { place, memory: Arc::clone(memory) })
    }
}

impl<T: ?Sized> Placed<T> {
    /// A part of the value, held as the whole is.
    pub fn part<U: ?Sized>(&self, choose: impl FnOnce(&T) -> &U) -> Placed<U> {
        Placed { place: NonNull::from(choose(self)), memory: Arc::clone(&self.memory) }
    }
}

impl<T: ?Sized> Deref for Placed<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: checked to be inside and aligned when it was placed; `Shareable` allows every bit pattern and foreign
        // writes; `memory` keeps the mapping as long as `self`.
        unsafe { self.place.as_ref() }
    }
}

impl<T: ?Sized> Clone for Placed<T> {
    fn clone(&self) -> Placed<T> {
        Placed { place: self.place, memory: Arc::clone(&self.memory) }
    }
}

// SAFETY: all of its bytes but the padding are those of a `Shareable`.
unsafe impl<T: Shareable> Shareable for CachePadded<T> {}
