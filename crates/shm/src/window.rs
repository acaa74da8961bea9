//! A window of shared bytes whose length is a power of two: copies in and out of it at positions that are masked.
//!
//! The ring and STREAMS' lanes and buffers keep their bytes in windows. No position leads outside, whatever its value,
//! so a hostile peer that writes an index corrupts bytes and nothing else. The window itself knows no index.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use headwater_os::memory::SharedMemory;

/// A power of two of bytes somewhere in a mapping. Clones share the mapping.
#[derive(Debug, Clone)]
pub struct Window {
    bytes: NonNull<u8>,
    /// Length in bytes minus one.
    mask: u64,
    /// Keeps what `bytes` points to. Never used otherwise.
    _memory: Arc<SharedMemory>,
}

// SAFETY: the pointer goes into `_memory`, which is itself Send and Sync and lives as long as this value.
unsafe impl Send for Window {}
// SAFETY: as above; copies through it race like those of two processes, and are raw copies for that reason.
unsafe impl Sync for Window {}

impl Window {
    /// The window of `len` bytes at `offset`, or `None` if it is not wholly inside or `len` is no power of two.
    pub fn at(memory: &Arc<SharedMemory>, offset: usize, len: usize) -> Option<Window> {
        let bytes = memory.bytes(offset, len)?;
        len.is_power_of_two().then(|| Window { bytes, mask: len as u64 - 1, _memory: Arc::clone(memory) })
    }

    /// Length in bytes.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "a window of no bytes cannot be made")]
    pub fn len(&self) -> u64 {
        self.mask + 1
    }

    /// Copies `source` into the window, starting at byte `at` of the stream. The caller knows that no other process
    /// uses that place.
    ///
    /// # Panics
    /// If `source` is longer than the window.
    #[inline(always)]
    pub fn copy_in(&self, at: u64, source: &[u8]) {
        let offset = (at & self.mask) as usize;
        let before_end = self.len() as usize - offset;
        if source.len() <= before_end {
            // SAFETY: offset + len <= window, and `bytes` spans the window. The other process may be reading these
            // bytes if it breaks the protocol; then it reads garbage. No reference to them as plain bytes exists in
            // this process.
            unsafe { self.bytes.as_ptr().add(offset).copy_from_nonoverlapping(source.as_ptr(), source.len()) };
        } else {
            self.copy_in_two(at, source);
        }
    }

    /// Copies the stream's bytes from byte `at` onwards out of the window. As [`Window::copy_in`].
    #[inline(always)]
    pub fn copy_out(&self, at: u64, target: &mut [u8]) {
        let offset = (at & self.mask) as usize;
        let before_end = self.len() as usize - offset;
        if target.len() <= before_end {
            // SAFETY: as in `copy_in`. A sender that breaks the protocol may be writing here; then the copy holds a mix
            // of bytes, all of which are valid values. The copy is read only after it is complete.
            unsafe { self.bytes.as_ptr().add(offset).copy_to_nonoverlapping(target.as_mut_ptr(), target.len()) };
        } else {
            self.copy_out_two(at, target);
        }
    }

    /// The `len` bytes from byte `at` onwards, in place: the part up to the end of the window, and the rest at its
    /// start. Atomic, because another process may write there at any time.
    ///
    /// # Panics
    /// If `len` is longer than the window.
    pub fn in_place(&self, at: u64, len: usize) -> [&[AtomicU8]; 2] {
        assert!(len as u64 <= self.len(), "what lies in a window fits it");
        let offset = (at & self.mask) as usize;
        let first = len.min(self.len() as usize - offset);
        // SAFETY: both parts lie inside the window, which lives as long as `self`; bytes as atomics allow foreign writes.
        unsafe {
            [
                std::slice::from_raw_parts(self.bytes.as_ptr().add(offset).cast::<AtomicU8>(), first),
                std::slice::from_raw_parts(self.bytes.as_ptr().cast::<AtomicU8>(), len - first),
            ]
        }
    }

    /// The copy crosses the end of the window and continues at its start.
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
