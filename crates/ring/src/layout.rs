//! The layout of a region: header, words, then the window of bytes. Offsets only, no pointer.
//!
//! | offset | what | who writes |
//! |---|---|---|
//! | 0 | [`Header`] | the creator, before another process sees the region |
//! | 128 | [`Words`] | each field says so |
//! | 4096 | the window, a power of two of bytes | the sender |
//!
//! A process that attaches reads it with checks; nothing here is trusted (see `region`).

use headwater_shm::sync::{AtomicU32, AtomicU64};
use headwater_shm::{CachePadded, shareable};

/// "HWRING" and two zero bytes: what this memory is.
#[cfg(not(loom))]
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"HWRING\0\0");
/// Raised by any change of this file's meaning; ends of different versions refuse each other.
#[cfg(not(loom))]
pub(crate) const VERSION: u32 = 1;
/// Smallest window in bytes: one cache line; below it every write would wrap.
pub const WINDOW_MIN: usize = 64;
/// Largest window in bytes: 1 GiB, far beyond the point where a larger one is faster (some MiB).
pub const WINDOW_MAX: usize = 1 << 30;
#[cfg(not(loom))]
pub(crate) const WORDS_AT: usize = 128;
/// The window begins on a page of its own.
#[cfg(not(loom))]
pub(crate) const WINDOW_AT: usize = 4096;

shareable! {
    /// What the region is. Written once by the creator.
    pub(crate) struct Header {
        pub magic: AtomicU64,
        pub version: AtomicU32,
        /// The number of an `os::fence::Fence`, which both ends must use.
        pub fence: AtomicU32,
        /// Length of the window in bytes.
        pub window: AtomicU64,
    }

    /// What changes while the ring runs. Indices count bytes since the ring was made and never wrap in practice (2^64).
    pub(crate) struct Words {
        /// Bytes published. Only the sender writes it, with Release after the bytes.
        pub tail: CachePadded<AtomicU64>,
        /// Bytes taken. Only the receiver writes it, with Release after it has copied them out.
        pub head: CachePadded<AtomicU64>,
        pub sender: CachePadded<End>,
        pub receiver: CachePadded<End>,
    }

    /// One end's state. The peer reads `status` on each operation, so all other fields of this cache line change
    /// seldom.
    pub(crate) struct End {
        /// A `parker` state. The end itself writes it; the peer only turns ASLEEP into AWAKE.
        pub status: AtomicU32,
        /// The CPU on which the end last waited, plus one; 0: not known. The end writes it; a hint.
        pub cpu: AtomicU32,
        /// The place of the `os::watch::ProcessId` that holds the end; 0: none yet. Set once, by the process that
        /// attaches.
        pub owner: AtomicU64,
        /// The birth of that process; 0: not stored yet.
        pub birth: AtomicU64,
    }
}

/// The number of bytes in the ring below which a sender that met a full ring continues. Half of the window: the sender
/// then has as much room as the receiver has data, and is woken once per half window instead of once per message.
pub(crate) fn low_water(window: u64) -> u64 {
    window / 2
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Header>() <= WORDS_AT);
    assert!(std::mem::offset_of!(Words, tail) == 0);
    assert!(std::mem::offset_of!(Words, head) == 128);
    assert!(std::mem::offset_of!(Words, sender) == 256);
    assert!(std::mem::offset_of!(Words, receiver) == 384);
    assert!(WORDS_AT + size_of::<Words>() <= WINDOW_AT);
    assert!(size_of::<End>() == 24);
};
