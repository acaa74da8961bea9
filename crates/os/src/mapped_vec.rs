//! A vector whose memory comes directly from the kernel, for signal handlers: they may have interrupted the allocator.

use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

const PAGE: usize = 4096;

/// A vector of `Copy` values. A new one has no memory. It keeps its memory until it is dropped.
#[derive(Debug)]
pub struct MappedVec<T> {
    /// The address of the memory. Dangling if there is none.
    memory: NonNull<T>,
    /// The size of the memory in bytes.
    size: usize,
    len: usize,
    owned: PhantomData<T>,
}

// SAFETY: the vector owns its values, as a `Vec` does.
unsafe impl<T: Send> Send for MappedVec<T> {}
// SAFETY: sharing the vector shares only its values.
unsafe impl<T: Sync> Sync for MappedVec<T> {}

impl<T> Default for MappedVec<T> {
    fn default() -> MappedVec<T> {
        const { assert!(align_of::<T>() <= PAGE && size_of::<T>() > 0, "a mapping begins at a page") };
        MappedVec { memory: NonNull::dangling(), size: 0, len: 0, owned: PhantomData }
    }
}

impl<T: Copy> MappedVec<T> {
    /// Appends a value.
    ///
    /// # Errors
    /// `ENOMEM` if the kernel gives no memory.
    pub fn push(&mut self, value: T) -> io::Result<()> {
        self.reserve(self.len + 1)?;
        // SAFETY: there is room for it behind the other values.
        unsafe { self.memory.add(self.len).write(value) };
        self.len += 1;
        Ok(())
    }

    /// Removes all values, and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Changes the length. New elements are equal to `value`.
    ///
    /// # Errors
    /// Those of [`MappedVec::push`].
    pub fn resize(&mut self, len: usize, value: T) -> io::Result<()> {
        self.reserve(len)?;
        let known = self.len.min(len);
        // SAFETY: there is room for `len` values.
        (known..len).for_each(|at| unsafe { self.memory.add(at).write(value) });
        self.len = len;
        Ok(())
    }

    /// Appends values.
    ///
    /// # Errors
    /// Those of [`MappedVec::push`].
    pub fn extend_from_slice(&mut self, values: &[T]) -> io::Result<()> {
        self.reserve(self.len + values.len())?;
        // SAFETY: there is room for them, in memory that the vector owns.
        unsafe { self.memory.add(self.len).copy_from_nonoverlapping(NonNull::from(values).cast(), values.len()) };
        self.len += values.len();
        Ok(())
    }

    fn reserve(&mut self, len: usize) -> io::Result<()> {
        let wanted = len.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
        if wanted <= self.size {
            return Ok(());
        }
        let size = wanted.max(2 * self.size).checked_next_multiple_of(PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = if self.size == 0 {
            // SAFETY: a new mapping, at an address that the kernel chooses.
            unsafe { mmap_anonymous(ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)? }
        } else {
            // SAFETY: our own mapping of that size. No reference to it exists, because `self` is borrowed mutably.
            unsafe { mremap(self.memory.as_ptr().cast(), self.size, size, MremapFlags::MAYMOVE)? }
        };
        self.memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        self.size = size;
        Ok(())
    }
}

impl<T> Deref for MappedVec<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `len` values were written.
        unsafe { NonNull::slice_from_raw_parts(self.memory, self.len).as_ref() }
    }
}

impl<T> DerefMut for MappedVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`.
        unsafe { NonNull::slice_from_raw_parts(self.memory, self.len).as_mut() }
    }
}

impl<T> Drop for MappedVec<T> {
    fn drop(&mut self) {
        if self.size > 0 {
            // SAFETY: our own mapping, which is not used any more. Its values are `Copy` and need no drop.
            let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.size) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_as_the_vector_grows() {
        let mut vec = MappedVec::default();
        assert!(vec.is_empty());
        (0..10_000u64).for_each(|number| vec.push(number).expect("memory"));
        assert!(vec.iter().copied().eq(0..10_000));
        vec.resize(20_000, 7).expect("memory");
        assert_eq!((vec[9999], vec[10_000], vec.len()), (9999, 7, 20_000));
        vec.clear();
        vec.extend_from_slice(&[1, 2]).expect("memory");
        vec.resize(3, 0).expect("memory");
        assert_eq!(*vec, [1, 2, 0]);
    }

    #[test]
    fn resize_beyond_memory_fails() {
        let mut vec = MappedVec::default();
        vec.push(1u64).expect("memory");
        assert!(vec.resize(usize::MAX / 16, 0).is_err());
        assert_eq!(*vec, [1]);
    }
}
