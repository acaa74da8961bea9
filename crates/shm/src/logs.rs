//! Logs in shared memory. Many threads append entries, which begin with a time stamp. One reader consumes the entries, or new
//! entries overwrite the oldest ones.
//!
//! There is one log for each CPU, to which threads of all processes append without an atomic instruction
//! ([`headwater_os::rseq`]). Where that is not available there is one log for each thread, in the same format. The last store of
//! a writer is that of the position after its entry, which publishes the entry. A writer that dies before this store leaves
//! nothing. A writer that dies after it leaves the whole entry.
//!
//! A log consists of a [`LogWords`], a power of two of bytes, and an index. The index has a [`Mark`] for each block, which says
//! where the first entry of the block begins. If a log is not overwritten, an entry must fit before the reader's tail; its writer
//! waits for room, or counts the entry as lost. A sleeping reader leaves only a part of the log open ([`Log::ask`]). The writer
//! that needs more opens the rest and wakes the reader. That adds no cost, since every writer checks for room anyway.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use headwater_os::memory::{Shareable, SharedMemory};
use headwater_os::rseq::{Appended, BLOCK, CpuLog, DATA_AT, LogWords, Mark, index_at, log_bytes};

use crate::placed::Placed;
use crate::window::Window;

/// The smallest size of a log's data in bytes. With less, an overwriting writer would leave no whole block to a reader.
pub const LOG_MIN: usize = 4 * BLOCK;
/// The largest size of a log's data in bytes: some seconds of appending without a pause.
pub const LOG_MAX: usize = 1 << 30;

// SAFETY: all of its bytes but the padding are atomics.
unsafe impl Shareable for SharedWords {}

/// [`LogWords`], as a `Shareable` type.
#[derive(Debug)]
#[repr(transparent)]
struct SharedWords(LogWords);

// SAFETY: two atomics.
unsafe impl Shareable for SharedMark {}

/// [`Mark`], as a `Shareable` type.
#[derive(Debug)]
#[repr(transparent)]
struct SharedMark(Mark);

/// The behaviour of a full log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// New entries are refused: their writers wait for room, or count them as lost.
    Refuse,
    /// The oldest entries are overwritten.
    Overwrite,
}

impl WhenFull {
    /// Returns the largest distance between tail and head in bytes with which a writer appends.
    fn limit(self, bytes: usize) -> u64 {
        match self {
            WhenFull::Refuse => bytes as u64,
            WhenFull::Overwrite => UNLIMITED,
        }
    }
}

/// A limit of more bytes than are ever written to a log. It is less than the distance between tail and head of a closed log.
const UNLIMITED: u64 = u64::MAX / 2;

/// The number of parts of a log. A reader that asks is woken when one part is full. The other parts are the time that it has to
/// begin.
const PARTS: u64 = 4;

/// The distance from the head to the tail of a closed log. With it the log always seems full.
const CLOSED: u64 = u64::MAX / 4;

/// Logs of equal size, one after the other in shared memory.
#[derive(Debug, Clone)]
pub struct Logs {
    memory: Arc<SharedMemory>,
    offset: usize,
    count: usize,
    bytes: usize,
    when_full: WhenFull,
}

impl Logs {
    /// Returns the distance in bytes from one log to the next.
    pub const fn stride(bytes: usize) -> usize {
        log_bytes(bytes)
    }

    /// Makes a view of `count` logs at `offset`, each with `bytes` bytes of data. The memory was zeros at first. Returns `None` if
    /// they are not inside the memory, `offset` is not a multiple of 4096, or `bytes` is not a power of two between [`LOG_MIN`] and
    /// [`LOG_MAX`].
    pub fn at(
        memory: &Arc<SharedMemory>,
        offset: usize,
        count: usize,
        bytes: usize,
        when_full: WhenFull,
    ) -> Option<Logs> {
        let sound = bytes.is_power_of_two() && (LOG_MIN..=LOG_MAX).contains(&bytes) && offset.is_multiple_of(BLOCK);
        let _ = memory.bytes(offset, count.checked_mul(Logs::stride(bytes))?)?;
        sound.then(|| Logs { memory: Arc::clone(memory), offset, count, bytes, when_full })
    }

    /// Returns the number of logs.
    #[expect(clippy::len_without_is_empty, reason = "no caller needs it")]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns the behaviour of a full log.
    pub fn when_full(&self) -> WhenFull {
        self.when_full
    }

    /// Returns the writer to the log of a CPU; `None` without restartable sequences.
    pub fn cpu_writer(&self, cpu: usize) -> Option<CpuWriter> {
        let place = self.place(cpu)?;
        // SAFETY: the log is inside the mapping, which is aligned to a page, and which `_memory` keeps.
        let log = unsafe { CpuLog::new(place.as_ptr(), self.bytes, self.when_full.limit(self.bytes), cpu as u32) }?;
        Some(CpuWriter { log, _memory: Arc::clone(&self.memory) })
    }

    /// Returns the writer to log `number`, for the thread that claims the log.
    pub fn thread_writer(&self, number: usize) -> Option<ThreadWriter> {
        Some(ThreadWriter {
            place: self.place(number)?,
            // Without the lowest bits a masked position is a multiple of 8, whatever the memory contains.
            mask: (self.bytes as u64 - 1) & !7,
            limit: self.when_full.limit(self.bytes),
            log: self.log(number)?,
        })
    }

    /// Returns the address of a log.
    fn place(&self, number: usize) -> Option<NonNull<u8>> {
        let stride = Logs::stride(self.bytes);
        if number < self.count { self.memory.bytes(self.offset + number * stride, stride) } else { None }
    }

    /// Returns log `number`; `None` if there is no such log.
    pub fn log(&self, number: usize) -> Option<Log> {
        if number >= self.count {
            return None;
        }
        let at = self.offset + number * Logs::stride(self.bytes);
        let words: Placed<SharedWords> = Placed::at(&self.memory, at)?;
        let marks = Placed::slice_at(&self.memory, at + index_at(self.bytes), self.bytes / BLOCK)?;
        let window = Window::at(&self.memory, at + DATA_AT, self.bytes)?;
        Some(Log { words, marks, window, when_full: self.when_full })
    }
}

/// A writer to the log of a CPU, for the threads on this CPU.
#[derive(Debug)]
pub struct CpuWriter {
    log: CpuLog,
    /// Keeps the memory of the log mapped.
    _memory: Arc<SharedMemory>,
}

impl CpuWriter {
    /// Appends an entry if the thread is on this CPU. The time stamp replaces the first word. An entry has at least two words and
    /// at most 4096 bytes.
    pub fn append(&self, words: &[u64]) -> Appended {
        self.log.append(words)
    }

    /// Counts a lost entry if the thread is on this CPU. Returns whether it is.
    pub fn count_lost(&self) -> bool {
        self.log.count_lost()
    }

    /// Like [`CpuWriter::append`], for two to four words, if the fast path applies. Otherwise calls only `otherwise`.
    #[inline(always)]
    pub fn append_short<const WORDS: usize>(&self, words: [u64; WORDS], otherwise: impl FnOnce()) {
        self.log.append_short(words, otherwise);
    }
}

/// A log, for its reader or its owner.
#[derive(Debug, Clone)]
pub struct Log {
    words: Placed<SharedWords>,
    marks: Placed<[SharedMark]>,
    window: Window,
    when_full: WhenFull,
}

/// The contents of a log at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The positions of the entries: from the beginning of the oldest to the end of the newest.
    pub range: Range<u64>,
    /// The number of earlier entries that were overwritten; 0 for a log that refuses new entries when it is full.
    pub overwritten: u64,
}

impl Log {
    /// Returns the size of the data in bytes.
    pub fn bytes(&self) -> u64 {
        self.window.len()
    }

    /// Returns the position after the newest entry.
    #[inline]
    pub fn head(&self) -> u64 {
        // Acquire pairs with the Release in `publish`: the bytes of the entry are visible.
        self.words.0.head.load(Ordering::Acquire)
    }

    /// Returns the position of the reader.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.words.0.reader.tail.load(Ordering::Relaxed)
    }

    /// Releases the data before a position, which the reader has consumed. Only for the reader.
    pub fn take_to(&self, tail: u64) {
        let words = &self.words.0.reader;
        // The order matters: a writer that has seen a gate must not store an older tail there. Release: the reads of the data come
        // before a writer overwrites it. Pairs with the Acquire loads of tail and gate in the writers.
        words.tail.store(tail, Ordering::Release);
        words.gate.store(tail, Ordering::Release);
    }

    /// Asks for a wake-up when a quarter of the log is full, counted from `tail`, to which the reader has released the data. Then
    /// one append returns [`Appended::Due`]. The same happens if a quarter is already full. The log must not be closed. Only for
    /// the reader.
    pub fn ask(&self, tail: u64) {
        let gate = tail.wrapping_sub(self.bytes() - self.bytes() / PARTS);
        let word = &self.words.0.reader.gate;
        if self.when_full == WhenFull::Refuse && word.load(Ordering::Relaxed) != gate {
            word.store(gate, Ordering::Release);
        }
    }

    /// Closes the log: from now on every entry is refused. The entries that an earlier [`Log::held`] has returned can still be
    /// read. Only for the reader.
    pub fn close(&self) {
        self.take_to(self.head().wrapping_add(CLOSED));
    }

    /// Returns the number of entries that were appended.
    pub fn count(&self) -> u64 {
        self.words.0.count.load(Ordering::Relaxed)
    }

    /// Returns the number of entries that were lost, because there was no room.
    pub fn lost(&self) -> u64 {
        self.words.0.lost.load(Ordering::Relaxed)
    }

    /// Copies bytes out of the log, beginning at a position.
    ///
    /// # Panics
    /// If `target` is longer than the data of the log.
    pub fn copy(&self, from: u64, target: &mut [u8]) {
        self.window.copy_out(from, target);
    }

    /// Returns the entries that the reader has not consumed; `None` if the positions are inconsistent.
    pub fn held(&self) -> Option<Held> {
        let (tail, head) = (self.tail(), self.head());
        match self.when_full {
            WhenFull::Refuse => {
                let sound = tail <= head && head - tail <= self.bytes();
                sound.then_some(Held { range: tail..head, overwritten: 0 })
            }
            WhenFull::Overwrite => self.kept_since(head, head),
        }
    }

    /// Returns the valid entries of a copy: it was begun when the head was `before`, and ended when the head was `now`. Entries that
    /// were overwritten meanwhile are left out. Returns `None` if no mark is consistent.
    pub fn kept_since(&self, before: u64, now: u64) -> Option<Held> {
        if now < before || now > u64::MAX / 2 {
            return None;
        }
        // A writer may be writing an unpublished entry, which may overwrite one more block.
        let oldest = (now + BLOCK as u64).saturating_sub(self.bytes());
        if oldest == 0 {
            return Some(Held { range: 0..before, overwritten: 0 });
        }
        // Find the first block that begins at `oldest` or later and has a mark of this round.
        let first = oldest.next_multiple_of(BLOCK as u64);
        for block in (first..=before).step_by(BLOCK) {
            let mark = &self.marks[((block / BLOCK as u64) % self.marks.len() as u64) as usize].0;
            let position = mark.position.load(Ordering::Acquire);
            if (block..block + BLOCK as u64).contains(&position) && position <= before {
                return Some(Held { range: position..before, overwritten: mark.count.load(Ordering::Relaxed) });
            }
        }
        None
    }

    /// Claims a log without an owner for a thread. `owner` must not be 0. Returns whether the claim succeeded.
    pub fn claim(&self, owner: u64) -> bool {
        // AcqRel: the actions of the last owner come before ours. Pairs with the Release in `give_back`.
        self.words.0.owner.compare_exchange(0, owner, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Releases the claim.
    pub fn give_back(&self) {
        self.words.0.owner.store(0, Ordering::Release);
    }

    /// Returns the owner; 0 if there is none.
    pub fn owner(&self) -> u64 {
        self.words.0.owner.load(Ordering::Relaxed)
    }
}

/// A writer to a log that one thread owns. It is a pointer to the log, because every instruction costs time.
#[derive(Debug)]
pub struct ThreadWriter {
    /// The address of the log, which is aligned to a page: words, data, index.
    place: NonNull<u8>,
    /// The number of bytes of data, minus one, without the lowest three bits.
    mask: u64,
    limit: u64,
    /// Keeps the memory mapped.
    log: Log,
}

// SAFETY: the pointer leads to atomics in the mapping that `log` keeps. Processes share this memory anyway.
unsafe impl Send for ThreadWriter {}
// SAFETY: as above. Two threads that append at the same time can corrupt only the entries of the log.
unsafe impl Sync for ThreadWriter {}

impl ThreadWriter {
    /// Returns the log, to claim and release it.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the address of the log, which begins with the words that change with each entry.
    pub fn first_byte(&self) -> NonNull<u8> {
        self.place
    }

    /// Appends an entry of at most 4096 bytes. `time` replaces the first word. Only for the owner of the log.
    pub fn append(&self, time: u64, words: &[u64]) -> Appended {
        let own = self.words();
        let head = own.head.load(Ordering::Relaxed);
        let next = head.wrapping_add(size_of_val(words) as u64);
        // Acquire pairs with the Release in `take_to`, also through another writer that has stored the gate.
        if next.wrapping_sub(own.reader.gate.load(Ordering::Acquire)) > self.limit {
            return own.find_room(next.wrapping_sub(head), self.limit);
        }
        self.put(head, time);
        for (place, word) in words.iter().enumerate().skip(1) {
            self.put(head.wrapping_add(place as u64 * 8), *word);
        }
        let count = own.count.load(Ordering::Relaxed).wrapping_add(1);
        if (head ^ next) / BLOCK as u64 != 0 {
            self.mark(next, count);
        }
        publish(own, next, count);
        Appended::Written
    }

    /// Like [`ThreadWriter::append`], if the fast path applies: there is room, and the entry is not the last one of its block.
    /// Otherwise does nothing, and does not read the clock. Returns whether the entry was appended.
    #[inline(always)]
    pub fn append_short<const WORDS: usize>(&self, time: impl FnOnce() -> u64, mut words: [u64; WORDS]) -> bool {
        let own = self.words();
        let head = own.head.load(Ordering::Relaxed);
        let next = head.wrapping_add(8 * WORDS as u64);
        // Acquire pairs with the Release in `take_to`, also through another writer that has stored the gate.
        if next % (BLOCK as u64) < 8 * WORDS as u64
            || next.wrapping_sub(own.reader.gate.load(Ordering::Acquire)) > self.limit
        {
            return false;
        }
        // SAFETY: the masked position is a multiple of 8 within the data. The end is within the data too, since both are in one
        // block.
        let place: &[AtomicU64; WORDS] = unsafe { self.data(head).cast().as_ref() };
        words[0] = time();
        // Relaxed: the head publishes it.
        place.iter().zip(words).for_each(|(place, word)| place.store(word.to_le(), Ordering::Relaxed));
        publish(own, next, own.count.load(Ordering::Relaxed).wrapping_add(1));
        true
    }

    #[inline(always)]
    fn words(&self) -> &LogWords {
        // SAFETY: `log` keeps the mapping, and a log begins with its words.
        unsafe { self.place.cast().as_ref() }
    }

    /// Returns the address of 8 bytes of the data. Any position is valid.
    #[inline(always)]
    fn data(&self, at: u64) -> NonNull<AtomicU64> {
        // SAFETY: the masked position is within the data, which is inside the log.
        unsafe { self.place.byte_add(DATA_AT + (at & self.mask) as usize).cast() }
    }

    #[inline(always)]
    fn put(&self, at: u64, word: u64) {
        // SAFETY: a multiple of 8 within the mapping that `log` keeps.
        let place = unsafe { self.data(at).as_ref() };
        // Relaxed: the head publishes it.
        place.store(word.to_le(), Ordering::Relaxed);
    }

    /// Stores the mark of the block in which the next entry begins.
    #[cold]
    #[inline(never)]
    fn mark(&self, position: u64, count: u64) {
        let mark = &self.log.marks[(position & self.mask) as usize / BLOCK].0;
        mark.position.store(position, Ordering::Relaxed);
        mark.count.store(count, Ordering::Relaxed);
    }

    /// Counts a lost entry. Only for the owner of the log.
    pub fn count_lost(&self) {
        let lost = &self.words().lost;
        lost.store(lost.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

/// Publishes the entry that ends at a position.
#[inline(always)]
fn publish(own: &LogWords, head: u64, count: u64) {
    // Release: publishes the entry; pairs with the load in `Log::head`.
    own.head.store(head, Ordering::Release);
    // The compiler must not reorder the two stores. If the writer is killed between them, only the count is too small by one.
    compiler_fence(Ordering::SeqCst);
    own.count.store(count, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
