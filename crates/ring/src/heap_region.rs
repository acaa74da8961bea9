//! The region of a ring in loom's model: the same names as `region`, on the heap.
//!
//! Compiled under `--cfg loom` only. Loom's atomics are larger than real ones, so the words lie in a box instead of a mapping.

use std::io;

use headwater_shm::sync::{AtomicU32, AtomicU64, Fence};
use headwater_shm::{CachePadded, Window};
use loom::sync::Arc;

use crate::error::Error;
use crate::layout::{End, Words};

/// A region on the heap, of any power of two.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    words: Arc<Words>,
    window: Window,
}

impl Region {
    pub(crate) fn create(window_bytes: usize) -> io::Result<Region> {
        let end = || {
            CachePadded(End {
                status: AtomicU32::new(0),
                cpu: AtomicU32::new(0),
                owner: AtomicU64::new(0),
                birth: AtomicU64::new(0),
            })
        };
        let index = || CachePadded(AtomicU64::new(0));
        let words = Words { tail: index(), head: index(), sender: end(), receiver: end() };
        Ok(Region { words: Arc::new(words), window: Window::new(window_bytes as u64, window_bytes) })
    }

    pub(crate) fn populate(&self) -> Result<(), Error> {
        Ok(())
    }

    pub(crate) fn words(&self) -> &Words {
        &self.words
    }

    pub(crate) fn window(&self) -> u64 {
        self.window.len()
    }

    pub(crate) fn fence(&self) -> Fence {
        Fence
    }

    pub(crate) fn copy_in(&self, at: u64, source: &[u8]) {
        self.window.copy_in(at, source);
    }

    pub(crate) fn copy_out(&self, at: u64, target: &mut [u8]) {
        self.window.copy_out(at, target);
    }
}
