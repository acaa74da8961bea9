//! The shared state of a case's processes beside the stream: the progress of each, and which words have arrived.
//!
//! All payload is words of eight bytes, and every word of a case is different: so each arriving word identifies itself,
//! and one bit for each shows which were lost or came twice.

use std::sync::atomic::{AtomicU64, Ordering};

use headwater_os_tools::shared::Shared;

/// Words that the scripts of one case may have, in all.
pub const WORDS: usize = 1 << 18;
/// The first word of the second writer.
pub const SECOND: u64 = WORDS as u64 / 2;

const MAGIC: u64 = 0xa5c3 << 48;

/// Cells before the bits.
const CELLS: usize = 8;

#[derive(Debug)]
pub struct Board(Shared<[AtomicU64; CELLS + WORDS / 64]>);

/// A process or thread that plays a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The one that may be killed.
    Victim,
    /// The other holder of the same end.
    Fellow,
    /// The other end.
    Survivor,
}

impl Board {
    pub fn new() -> Board {
        Board(Shared::new(std::array::from_fn(|_| AtomicU64::new(0))).expect("memory"))
    }

    /// How many operations it has begun, and how many have returned.
    pub fn progress(&self, who: Who) -> (usize, usize) {
        let of = |at: usize| self.0[at].load(Ordering::Acquire) as usize;
        (of(2 * who as usize), of(2 * who as usize + 1))
    }

    pub fn begin(&self, who: Who, operation: usize) {
        self.0[2 * who as usize].store(operation as u64 + 1, Ordering::Release);
    }

    pub fn returned(&self, who: Who, operation: usize) {
        self.0[2 * who as usize + 1].store(operation as u64 + 1, Ordering::Release);
    }

    /// How many words the victim's current read may take at most.
    pub fn in_hand(&self) -> usize {
        self.0[6].load(Ordering::Acquire) as usize
    }

    pub fn take_in_hand(&self, words: usize) {
        self.0[6].store(words as u64, Ordering::Release);
    }

    /// Notes that a word has arrived; it must be the first time.
    pub fn arrived(&self, word: u64) {
        let before = self.0[CELLS + word as usize / 64].fetch_or(1 << (word % 64), Ordering::AcqRel);
        assert_eq!(before & 1 << (word % 64), 0, "word {word} came twice");
    }

    pub fn has(&self, word: u64) -> bool {
        self.0[CELLS + word as usize / 64].load(Ordering::Acquire) & 1 << (word % 64) != 0
    }

    /// How many words have arrived.
    pub fn count(&self) -> usize {
        self.0[CELLS..].iter().map(|bits| bits.load(Ordering::Acquire).count_ones() as usize).sum()
    }
}

/// The bytes of so many words.
pub fn bytes(first: u64, words: usize) -> Vec<u8> {
    (first..first + words as u64).flat_map(|word| (MAGIC | word).to_le_bytes()).collect()
}

/// What a survivor writes after its script, until it is told that the victim has ended: the victim may read it.
pub const FILLER: [u8; 64] = [0xf1; 64];

/// The words that bytes are made of, without fillers.
pub fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    assert_eq!(bytes.len() % 8, 0, "half a word came");
    bytes.chunks(8).filter(|bytes| **bytes != FILLER[..8]).map(|bytes| {
        let word = u64::from_le_bytes(bytes.try_into().expect("eight"));
        assert!(word & 0xffff << 48 == MAGIC && (word ^ MAGIC) < WORDS as u64, "{word:#x} was never written");
        word ^ MAGIC
    })
}
