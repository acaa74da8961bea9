//! A window of shared bytes, whose length is a power of two. Bytes are copied in and out at masked positions.
//!
//! The ring, and the lanes and buffers of STREAMS, have their bytes in windows. A position never leads outside, whatever its value
//! is. So a hostile peer that writes an index can corrupt only bytes. The window itself has no index.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use headwater_os::memory::SharedMemory;

/// A range of bytes in a mapping, whose length is a power of two. Clones share the mapping.
#[derive(Debug, Clone)]
pub struct Window {
    bytes: NonNull<u8>,
    /// The length in bytes, minus one.
    mask: u64,
    /// Keeps the mapping that `bytes` points into.
    _memory: Arc<SharedMemory>,
}

// SAFETY: the pointer leads into `_memory`, which is itself Send and Sync, and exists as long as this value.
unsafe impl Send for Window {}
// SAFETY: as above. Copies by two threads race like those by two processes. Therefore they are raw copies.
unsafe impl Sync for Window {}

impl Window {
    /// Makes a window of `len` bytes at `offset`. Returns `None` if it is not completely inside the memory, or `len` is not a power
    /// of two.
    pub fn at(memory: &Arc<SharedMemory>, offset: usize, len: usize) -> Option<Window> {
        let bytes = memory.bytes(offset, len)?;
        len.is_power_of_two().then(|| Window { bytes, mask: len as u64 - 1, _memory: Arc::clone(memory) })
    }

    /// Returns the length in bytes.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "a window is never empty")]
    pub fn len(&self) -> u64 {
        self.mask + 1
    }

    /// Copies `source` into the window, beginning at position `at`. The caller makes sure that no other process uses these bytes.
    ///
    /// # Panics
    /// If `source` is longer than the window.
    #[inline(always)]
    pub fn copy_in(&self, at: u64, source: &[u8]) {
        let offset = (at & self.mask) as usize;
        let before_end = self.len() as usize - offset;
        if source.len() <= before_end {
            // SAFETY: offset + len is at most the length of the window. A process that breaks the protocol may be reading these
            // bytes; then it reads garbage. This process has no reference to them as plain bytes.
            unsafe { self.bytes.as_ptr().add(offset).copy_from_nonoverlapping(source.as_ptr(), source.len()) };
        } else {
            self.copy_in_two(at, source);
        }
    }

    /// Copies bytes out of the window into `target`, beginning at position `at`. The rules of [`Window::copy_in`] apply.
    #[inline(always)]
    pub fn copy_out(&self, at: u64, target: &mut [u8]) {
        let offset = (at & self.mask) as usize;
        let before_end = self.len() as usize - offset;
        if target.len() <= before_end {
            // SAFETY: as in `copy_in`. A sender that breaks the protocol may be writing here. Then the copy is a mix of bytes, all
            // of which are valid values. The copy is read only after it is complete.
            unsafe { self.bytes.as_ptr().add(offset).copy_to_nonoverlapping(target.as_mut_ptr(), target.len()) };
        } else {
            self.copy_out_two(at, target);
        }
    }

    /// Borrows `len` bytes, beginning at position `at`: the part up to the end of the window, and the rest at its beginning. They are
    /// atomics, because another process may write there at any time.
    ///
    /// # Panics
    /// If `len` is longer than the window.
    pub fn in_place(&self, at: u64, len: usize) -> [&[AtomicU8]; 2] {
        assert!(len as u64 <= self.len(), "at most the length of the window");
        let offset = (at & self.mask) as usize;
        let first = len.min(self.len() as usize - offset);
        // SAFETY: both parts are inside the window, which exists as long as `self`. Atomics allow writes by other processes.
        unsafe {
            [
                std::slice::from_raw_parts(self.bytes.as_ptr().add(offset).cast::<AtomicU8>(), first),
                std::slice::from_raw_parts(self.bytes.as_ptr().cast::<AtomicU8>(), len - first),
            ]
        }
    }

    /// Copies in two parts: up to the end of the window, and from its beginning.
    #[cold]
    #[inline(never)]
    fn copy_in_two(&self, at: u64, source: &[u8]) {
        assert!(source.len() as u64 <= self.len(), "a copy fits the window");
        let (first, second) = source.split_at((self.len() - (at & self.mask)) as usize);
        self.copy_in(at, first);
        self.copy_in(at.wrapping_add(first.len() as u64), second);
    }

    #[cold]
    #[inline(never)]
    fn copy_out_two(&self, at: u64, target: &mut [u8]) {
        assert!(target.len() as u64 <= self.len(), "a copy fits the window");
        let (first, second) = target.split_at_mut((self.len() - (at & self.mask)) as usize);
        let second_at = at.wrapping_add(first.len() as u64);
        self.copy_out(at, first);
        self.copy_out(second_at, second);
    }
}
