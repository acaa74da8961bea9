//! The shared memory of one ring, checked once when it is opened: header, words and window.
//!
//! The header's values are copied into this process at opening and never read again.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use headwater_os::fence::Fence;
use headwater_os::memory::SharedMemory;
use headwater_shm::{Placed, Window};

use crate::error::Error;
use crate::layout::{Header, MAGIC, VERSION, WINDOW_AT, WINDOW_MAX, WINDOW_MIN, WORDS_AT, Words};

/// A mapped region whose header has been checked. Clones share the mapping.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    memory: Arc<SharedMemory>,
    words: Placed<Words>,
    bytes: Window,
    fence: Fence,
}

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
        // Relaxed: another process reaches this only with the descriptor, which is passed on later through the kernel.
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
        let memory = Arc::new(memory);
        let words = Placed::at(&memory, WORDS_AT).expect("both callers checked the size");
        let bytes = Window::at(&memory, WINDOW_AT, window_bytes).expect("both callers checked the size");
        Region { memory, words, bytes, fence }
    }

    /// Brings the pages into this process's page table; see [`SharedMemory::populate`].
    pub(crate) fn populate(&self) -> io::Result<()> {
        self.memory.populate()
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &Words {
        &self.words
    }

    /// Bytes in the window.
    #[inline(always)]
    pub(crate) fn window(&self) -> u64 {
        self.bytes.len()
    }

    /// How the two ends order their words; agreed through the header.
    #[inline(always)]
    pub(crate) fn fence(&self) -> Fence {
        self.fence
    }

    /// As [`Window::copy_in`].
    #[inline(always)]
    pub(crate) fn copy_in(&self, at: u64, source: &[u8]) {
        self.bytes.copy_in(at, source);
    }

    /// As [`Window::copy_out`].
    #[inline(always)]
    pub(crate) fn copy_out(&self, at: u64, target: &mut [u8]) {
        self.bytes.copy_out(at, target);
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
