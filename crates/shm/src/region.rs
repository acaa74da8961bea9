//! The shared memory of one ring, checked once when it is opened, and the copies in and out of its window.
//!
//! Only here is shared memory dereferenced. What the header says is copied into this process at opening and never read
//! again; every position is masked into the window, so no number from the peer can move an access outside it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use headwater_os::fence::Fence;
use headwater_os::memory::{Shareable, SharedMemory};

use crate::error::Error;
use crate::layout::{Header, MAGIC, VERSION, WINDOW_AT, WINDOW_MAX, WINDOW_MIN, WORDS_AT, Words};

// SAFETY: both consist of atomics and padding only.
unsafe impl Shareable for Header {}
// SAFETY: as above.
unsafe impl Shareable for Words {}

/// A mapped region whose header has been checked. Clones share the mapping.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    /// Keeps what the two pointers below point to.
    memory: Arc<SharedMemory>,
    words: NonNull<Words>,
    bytes: NonNull<u8>,
    /// Bytes in the window minus one; the window is a power of two.
    mask: u64,
    fence: Fence,
}

// SAFETY: the pointers go into `memory`, which is itself Send and Sync and lives as long as this value.
unsafe impl Send for Region {}

impl Region {
    /// Makes a region of zeros with a window of that many bytes and maps it.
    ///
    /// Errors: `InvalidInput` unless the window is a power of two between [`WINDOW_MIN`] and [`WINDOW_MAX`].
    pub(crate) fn create(window_bytes: usize) -> io::Result<Region> {
        if !is_window(window_bytes) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a ring's window is a power of two between {WINDOW_MIN} and {WINDOW_MAX} bytes"),
            ));
        }
        let memory = SharedMemory::create("headwater-ring", WINDOW_AT + window_bytes)?;
        let fence = Fence::best();
        let header: &Header = memory.get(0).expect("the header is inside");
        // Relaxed: the descriptor, without which nobody else comes here, is passed on later through the kernel.
        header.version.store(VERSION, Ordering::Relaxed);
        header.fence.store(fence as u32, Ordering::Relaxed);
        header.window.store(window_bytes as u64, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Relaxed);
        Ok(Region::over(memory, window_bytes, fence))
    }

    /// Maps the region behind a descriptor from elsewhere.
    ///
    /// Errors: [`Error::Corrupt`] for a memfd that is no ring of this version or contradicts itself, else what
    /// [`SharedMemory::from_fd`] refuses.
    pub(crate) fn open(fd: OwnedFd) -> Result<Region, Error> {
        let memory = SharedMemory::from_fd(fd, WINDOW_AT + WINDOW_MAX)?;
        let header: &Header = memory.get(0).ok_or(Error::Corrupt("shorter than a header"))?;
        if header.magic.load(Ordering::Relaxed) != MAGIC {
            return Err(Error::Corrupt("not a ring"));
        }
        if header.version.load(Ordering::Relaxed) != VERSION {
            return Err(Error::Corrupt("another version of the ring's layout"));
        }
        let fence = Fence::from_number(header.fence.load(Ordering::Relaxed)).ok_or(Error::Corrupt("unknown fence"))?;
        let window = usize::try_from(header.window.load(Ordering::Relaxed)).ok().filter(|bytes| is_window(*bytes));
        match window {
            Some(bytes) if memory.len() == WINDOW_AT + bytes => Ok(Region::over(memory, bytes, fence)),
            _ => Err(Error::Corrupt("window and size disagree")),
        }
    }

    fn over(memory: SharedMemory, window_bytes: usize, fence: Fence) -> Region {
        let words = NonNull::from(memory.get::<Words>(WORDS_AT).expect("both callers checked the size"));
        let bytes = memory.bytes(WINDOW_AT, window_bytes).expect("both callers checked the size");
        Region { memory: Arc::new(memory), words, bytes, mask: window_bytes as u64 - 1, fence }
    }

    /// Brings the pages into this process's page table; see [`SharedMemory::populate`].
    pub(crate) fn populate(&self) -> io::Result<()> {
        self.memory.populate()
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &Words {
        // SAFETY: made by `SharedMemory::get`, and `memory` keeps the mapping as long as `self`.
        unsafe { self.words.as_ref() }
    }

    /// Bytes in the window.
    #[inline(always)]
    pub(crate) fn window(&self) -> u64 {
        self.mask + 1
    }

    /// How the two ends order their words; agreed through the header.
    #[inline(always)]
    pub(crate) fn fence(&self) -> Fence {
        self.fence
    }

    /// Copies `source` into the window, where the byte number `at` of the stream belongs.
    ///
    /// Panics if it is longer than the window. The caller knows that the receiver is done with that place.
    #[inline(always)]
    pub(crate) fn copy_in(&self, at: u64, source: &[u8]) {
        let offset = (at & self.mask) as usize;
        let before_end = self.window() as usize - offset;
        if source.len() <= before_end {
            // SAFETY: offset + len <= window, and `bytes` spans the window. The other process may be reading these
            // bytes if it breaks the protocol; then it reads garbage. No reference to them exists in this process.
            unsafe { self.bytes.as_ptr().add(offset).copy_from_nonoverlapping(source.as_ptr(), source.len()) };
        } else {
            self.copy_in_two(at, source);
        }
    }

    /// Copies the stream's bytes from number `at` on out of the window. As [`Region::copy_in`].
    #[inline(always)]
    pub(crate) fn copy_out(&self, at: u64, target: &mut [u8]) {
        let offset = (at & self.mask) as usize;
        let before_end = self.window() as usize - offset;
        if target.len() <= before_end {
            // SAFETY: as in `copy_in`. A sender that breaks the protocol may be writing here; then the copy holds a mix
            // of bytes, all of which are valid values. The copy is read only after it is complete.
            unsafe { self.bytes.as_ptr().add(offset).copy_to_nonoverlapping(target.as_mut_ptr(), target.len()) };
        } else {
            self.copy_out_two(at, target);
        }
    }

    /// The copy runs over the end of the window and goes on at its start.
    #[cold]
    #[inline(never)]
    fn copy_in_two(&self, at: u64, source: &[u8]) {
        assert!(source.len() as u64 <= self.window(), "a copy fits the window");
        let (first, second) = source.split_at((self.window() - (at & self.mask)) as usize);
        self.copy_in(at, first);
        self.copy_in(at + first.len() as u64, second);
    }

    #[cold]
    #[inline(never)]
    fn copy_out_two(&self, at: u64, target: &mut [u8]) {
        assert!(target.len() as u64 <= self.window(), "a copy fits the window");
        let (first, second) = target.split_at_mut((self.window() - (at & self.mask)) as usize);
        let second_at = at + first.len() as u64;
        self.copy_out(at, first);
        self.copy_out(second_at, second);
    }
}

impl AsFd for Region {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

fn is_window(bytes: usize) -> bool {
    bytes.is_power_of_two() && (WINDOW_MIN..=WINDOW_MAX).contains(&bytes)
}

#[cfg(test)]
mod tests;
