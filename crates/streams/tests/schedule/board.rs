//! The shared state of a round's processes beside the stream: the progress of each worker, and which words have
//! arrived. It lies in a file, which stays open through exec.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Workers: four of each end.
pub const WORKERS: usize = 8;
/// Words that one worker may write.
pub const WORDS: u64 = 1 << 14;

const MAGIC: u64 = 0x5ced << 48;
/// Cells of each worker.
const EACH: usize = 16;
const CELLS: usize = WORKERS * EACH + WORKERS * WORDS as usize / 64;

/// A worker's counters.
#[derive(Debug, Clone, Copy)]
pub enum Cell {
    /// Words of all writes that it has begun.
    Begun,
    /// Words of all writes that have returned.
    Returned,
    /// Words that its current read may take.
    InHand,
    /// Words that reads may have taken which an exec has ended.
    Lost,
    /// Not 0: it writes no more.
    Finished,
    /// Not 0: it waits to read, or to write.
    Reading,
    Writing,
    /// Words of the write that an exec has ended, which may have come or not: the first, and the one behind the last,
    /// above 32 bits.
    Skipped,
    /// Not 0: its process was killed or replaced, with the words that it had in hand.
    Gone,
}

#[derive(Debug)]
pub struct Board {
    file: File,
    cells: &'static [AtomicU64],
}

impl Board {
    pub fn create() -> Board {
        // SAFETY: memfd_create makes a new descriptor.
        let file = unsafe { File::from_raw_fd(libc::memfd_create(c"schedule-board".as_ptr(), 0)) };
        file.set_len(size_of::<[u64; CELLS]>() as u64).expect("memory");
        Board::over(file)
    }

    /// After exec.
    pub fn of_number(number: i32) -> Board {
        // SAFETY: the number was passed on for this, and nothing else in this program has it.
        Board::over(unsafe { File::from_raw_fd(number) })
    }

    fn over(file: File) -> Board {
        let len = size_of::<[u64; CELLS]>();
        // SAFETY: a fresh shared mapping of a file of that length, which is never cut; it stays until the program ends, is
        // aligned to a page, and is only used as atomics.
        let cells = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let place = libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), 0);
            assert_ne!(place, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
            std::slice::from_raw_parts(place.cast(), CELLS)
        };
        Board { file, cells }
    }

    /// The descriptor that exec keeps.
    pub fn number(&self) -> i32 {
        self.file.as_raw_fd()
    }

    pub fn clear(&self) {
        self.cells.iter().for_each(|cell| cell.store(0, Ordering::Relaxed));
    }

    pub fn get(&self, worker: usize, cell: Cell) -> u64 {
        self.cells[worker * EACH + cell as usize].load(Ordering::Acquire)
    }

    pub fn set(&self, worker: usize, cell: Cell, value: u64) {
        self.cells[worker * EACH + cell as usize].store(value, Ordering::Release);
    }

    /// Notes that a word has arrived: for the first time, and not before it was written.
    pub fn arrived(&self, word: u64) {
        let (worker, number) = of_word(word);
        assert!(number < self.get(worker, Cell::Begun), "word {number} of worker {worker} was not written yet");
        let bits = &self.cells[WORKERS * EACH + word as usize / 64];
        let before = bits.fetch_or(1 << (word % 64), Ordering::AcqRel);
        assert_eq!(before & 1 << (word % 64), 0, "word {number} of worker {worker} came twice");
    }

    pub fn has(&self, worker: usize, number: u64) -> bool {
        let word = worker as u64 * WORDS + number;
        self.cells[WORKERS * EACH + word as usize / 64].load(Ordering::Acquire) & 1 << (word % 64) != 0
    }

    /// How many words have arrived.
    pub fn count(&self) -> u64 {
        let bits = &self.cells[WORKERS * EACH..];
        bits.iter().map(|bits| u64::from(bits.load(Ordering::Acquire).count_ones())).sum()
    }

    /// How many words of writes that have returned have not arrived.
    pub fn missing(&self, worker: usize) -> u64 {
        let skipped = self.get(worker, Cell::Skipped);
        let skipped = skipped & 0xffff_ffff..skipped >> 32;
        let missing = |number: &u64| !skipped.contains(number) && !self.has(worker, *number);
        (0..self.get(worker, Cell::Returned)).filter(missing).count() as u64
    }

    /// A number that changes whenever a worker has made progress.
    pub fn progress(&self) -> u64 {
        let written: u64 = (0..WORKERS).map(|worker| self.get(worker, Cell::Returned)).sum();
        let finished: u64 = (0..WORKERS).map(|worker| self.get(worker, Cell::Finished)).sum();
        self.count() + (written << 20) + (finished << 40)
    }
}

/// The bytes of so many words of a worker.
pub fn bytes(worker: usize, first: u64, words: u64) -> Vec<u8> {
    let first = worker as u64 * WORDS + first;
    (first..first + words).flat_map(|word| (MAGIC | word).to_le_bytes()).collect()
}

/// The words that bytes are made of.
pub fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    assert_eq!(bytes.len() % 8, 0, "half a word came");
    bytes.chunks(8).map(|bytes| {
        let word = u64::from_le_bytes(bytes.try_into().expect("eight"));
        assert!(word & 0xffff << 48 == MAGIC && (word ^ MAGIC) < WORKERS as u64 * WORDS, "{word:#x} was never written");
        word ^ MAGIC
    })
}

/// The worker of a word, and its number.
pub fn of_word(word: u64) -> (usize, u64) {
    ((word / WORDS) as usize, word % WORDS)
}
