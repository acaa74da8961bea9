//! Logs in shared memory: entries that begin with a time stamp, appended by many threads and consumed by one reader, or
//! overwritten.
//!
//! There is one log for each CPU, to which any thread of any process appends without an atomic instruction
//! ([`headwater_os::rseq`]). Where that is not available there is one log per thread, in the same format. An entry
//! exists once the position behind it has been stored, which is the last store of its writer: a writer that dies before
//! this store has left nothing, a writer that dies after it has left the whole entry.
//!
//! A log is a [`LogWords`], a power of two of bytes, and an index of [`Mark`]s that say where the first entry of each block
//! begins. In a log that is not overwritten an entry must fit before the reader's tail; its writer waits for that, or counts it as
//! lost. A reader that sleeps leaves only a part of the room open ([`Log::ask`]): the writer that needs more opens it and
//! wakes the reader. That costs nothing elsewhere, since a writer asks for room anyway.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use headwater_os::memory::{Shareable, SharedMemory};
use headwater_os::rseq::{Appended, BLOCK, CpuLog, DATA_AT, LogWords, Mark, index_at, log_bytes};

use crate::placed::Placed;
use crate::window::Window;

/// Smallest log, bytes of data: with fewer an overwriting writer would leave no whole block to a reader.
pub const LOG_MIN: usize = 4 * BLOCK;
/// Largest log, bytes of data: some seconds of appending without a pause.
pub const LOG_MAX: usize = 1 << 30;

// SAFETY: all of its bytes but the padding are atomics.
unsafe impl Shareable for OfLog {}

/// [`LogWords`], as a `Shareable` type.
#[derive(Debug)]
#[repr(transparent)]
struct OfLog(LogWords);

// SAFETY: two atomics.
unsafe impl Shareable for OfMark {}

/// [`Mark`], as a `Shareable` type.
#[derive(Debug)]
#[repr(transparent)]
struct OfMark(Mark);

/// What happens when a log is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// New entries are refused: their writers wait, or count them as lost.
    Refuse,
    /// The oldest entries are overwritten.
    Overwrite,
}

impl WhenFull {
    /// Bytes that may lie between tail and head before a writer refuses.
    fn limit(self, bytes: usize) -> u64 {
        match self {
            WhenFull::Refuse => bytes as u64,
            WhenFull::Overwrite => UNLIMITED,
        }
    }
}

/// More bytes than any log ever writes, and fewer than between the head and the tail of a closed log.
const UNLIMITED: u64 = u64::MAX / 2;

/// The parts of a log: a reader that asks to be woken is woken when one of them is full, and has the others as the time to
/// begin.
const PARTS: u64 = 4;

/// The tail of a closed log is so far behind the head that it seems full.
const CLOSED: u64 = u64::MAX / 4;

/// A number of logs of one size, one after the other.
#[derive(Debug, Clone)]
pub struct Logs {
    memory: Arc<SharedMemory>,
    offset: usize,
    count: usize,
    bytes: usize,
    when_full: WhenFull,
}

impl Logs {
    /// Bytes from one log to the next.
    pub const fn stride(bytes: usize) -> usize {
        log_bytes(bytes)
    }

    /// The `count` logs at `offset` of a memory that was made of zeros, each with `bytes` of data. None unless they lie
    /// inside, `offset` is a multiple of 4096, and `bytes` a power of two between [`LOG_MIN`] and [`LOG_MAX`].
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

    /// The number of logs.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.count
    }

    /// What happens when one of them is full.
    pub fn when_full(&self) -> WhenFull {
        self.when_full
    }

    /// The log `cpu`, as the log of the CPU with that number, to append to. None without restartable sequences.
    pub fn of_cpu(&self, cpu: usize) -> Option<OfCpu> {
        let place = self.place(cpu)?;
        // SAFETY: the log lies inside the mapping, which is aligned to a page and lives as long as `memory` beside it.
        let log = unsafe { CpuLog::new(place.as_ptr(), self.bytes, self.when_full.limit(self.bytes), cpu as u32) }?;
        Some(OfCpu { log, _memory: Arc::clone(&self.memory) })
    }

    /// The log `number`, for the one thread that has claimed it.
    pub fn alone(&self, number: usize) -> Option<Alone> {
        Some(Alone {
            place: self.place(number)?,
            // Positions are multiples of 8, whatever the memory says.
            mask: (self.bytes as u64 - 1) & !7,
            limit: self.when_full.limit(self.bytes),
            log: self.log(number)?,
        })
    }

    /// The first byte of a log.
    fn place(&self, number: usize) -> Option<NonNull<u8>> {
        let stride = Logs::stride(self.bytes);
        if number < self.count { self.memory.bytes(self.offset + number * stride, stride) } else { None }
    }

    /// The log `number`.
    pub fn log(&self, number: usize) -> Option<Log> {
        if number >= self.count {
            return None;
        }
        let at = self.offset + number * Logs::stride(self.bytes);
        let words: Placed<OfLog> = Placed::at(&self.memory, at)?;
        let marks = Placed::slice_at(&self.memory, at + index_at(self.bytes), self.bytes / BLOCK)?;
        let window = Window::at(&self.memory, at + DATA_AT, self.bytes)?;
        Some(Log { words, marks, window, when_full: self.when_full })
    }
}

/// The log of a CPU, for the threads that append to it there.
#[derive(Debug)]
pub struct OfCpu {
    log: CpuLog,
    /// Keeps what the log points to.
    _memory: Arc<SharedMemory>,
}

impl OfCpu {
    /// Appends an entry if we are on that CPU; its first word is replaced by the time stamp. At least two words and at
    /// most 4096 bytes.
    pub fn append(&self, words: &[u64]) -> Appended {
        self.log.append(words)
    }

    /// Counts an entry that found no room, if we are on that CPU; returns whether we are.
    pub fn count_lost(&self) -> bool {
        self.log.count_lost()
    }

    /// As [`OfCpu::append`], of two to four words, if the fast path applies; if it does not, only calls `otherwise`.
    #[inline(always)]
    pub fn append_short<const WORDS: usize>(&self, words: [u64; WORDS], otherwise: impl FnOnce()) {
        self.log.append_short(words, otherwise);
    }
}

/// One log, for its reader, or for the one thread that appends to it.
#[derive(Debug, Clone)]
pub struct Log {
    words: Placed<OfLog>,
    marks: Placed<[OfMark]>,
    window: Window,
    when_full: WhenFull,
}

/// The contents of a log at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Positions of the entries, from the oldest one's beginning to behind the newest.
    pub range: Range<u64>,
    /// Entries that were overwritten before the first of them; of a log that refuses 0.
    pub overwritten: u64,
}

impl Log {
    /// Bytes of data.
    pub fn bytes(&self) -> u64 {
        self.window.len()
    }

    /// Position behind the newest entry.
    #[inline]
    pub fn head(&self) -> u64 {
        // Acquire pairs with the store that publishes an entry: its bytes are visible.
        self.words.0.head.load(Ordering::Acquire)
    }

    /// The reader's position.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.words.0.reader.tail.load(Ordering::Relaxed)
    }

    /// Releases the data before a position, which the reader has consumed. For the reader alone.
    pub fn take_to(&self, tail: u64) {
        let words = &self.words.0.reader;
        // In this order: a writer that has seen a gate does not store an older tail there. Release: the writer overwrites
        // what was read before.
        words.tail.store(tail, Ordering::Release);
        words.gate.store(tail, Ordering::Release);
    }

    /// Asks to be woken when a quarter of the log is full from a position on to which the reader has released the data:
    /// an append is [`Appended::Due`] then, once, also if that is so already. The log must not be closed. For the reader
    /// alone.
    pub fn ask(&self, tail: u64) {
        let gate = tail.wrapping_sub(self.bytes() - self.bytes() / PARTS);
        let word = &self.words.0.reader.gate;
        if self.when_full == WhenFull::Refuse && word.load(Ordering::Relaxed) != gate {
            word.store(gate, Ordering::Release);
        }
    }

    /// Closes the log: from now on every entry is refused. The entries that an earlier [`Log::held`]
    /// returned can still be read. For the reader alone.
    pub fn close(&self) {
        self.take_to(self.head().wrapping_add(CLOSED));
    }

    /// Entries so far, without the lost ones.
    pub fn count(&self) -> u64 {
        self.words.0.count.load(Ordering::Relaxed)
    }

    /// Entries that found no room so far.
    pub fn lost(&self) -> u64 {
        self.words.0.lost.load(Ordering::Relaxed)
    }

    /// Copies the bytes from a position onwards.
    ///
    /// # Panics
    /// If they are more than the log has.
    pub fn copy(&self, from: u64, target: &mut [u8]) {
        self.window.copy_out(from, target);
    }

    /// The entries that the reader has not consumed. None if the positions are inconsistent.
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

    /// The entries of a copy made when the head was `before` that had not been overwritten when the head is `now`. None
    /// if no mark is consistent.
    pub fn kept_since(&self, before: u64, now: u64) -> Option<Held> {
        if now < before || now > u64::MAX / 2 {
            return None;
        }
        // A writer may be writing an unpublished entry: one more block.
        let oldest = (now + BLOCK as u64).saturating_sub(self.bytes());
        if oldest == 0 {
            return Some(Held { range: 0..before, overwritten: 0 });
        }
        // The first block that begins at or behind it, and has a mark of this round.
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

    /// Claims a log without an owner, for one thread that appends alone. `owner` is not 0.
    pub fn claim(&self, owner: u64) -> bool {
        // AcqRel: what the last owner did comes before what we do.
        self.words.0.owner.compare_exchange(0, owner, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Releases the claim.
    pub fn give_back(&self) {
        self.words.0.owner.store(0, Ordering::Release);
    }

    /// The owner; 0: none.
    pub fn owner(&self) -> u64 {
        self.words.0.owner.load(Ordering::Relaxed)
    }
}

/// A log for the one thread that appends to it, as a pointer, because every instruction counts.
#[derive(Debug)]
pub struct Alone {
    /// The start of the whole log, which is aligned to a page: words, data, index.
    place: NonNull<u8>,
    /// Bytes of data minus one, without the lowest bits.
    mask: u64,
    limit: u64,
    /// Keeps the memory mapped.
    log: Log,
}

// SAFETY: the pointer leads to atomics in the mapping that `log` keeps, and which is shared between processes anyway.
unsafe impl Send for Alone {}
// SAFETY: as above. Two threads that append at once spoil the log's entries and nothing else.
unsafe impl Sync for Alone {}

impl Alone {
    /// The log, to claim and release it.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The first byte of the log, where the words are that change with each entry.
    pub fn first_byte(&self) -> NonNull<u8> {
        self.place
    }

    /// Appends an entry, as the log's owner, with this time stamp in place of the first word. At most 4096 bytes.
    pub fn append(&self, time: u64, words: &[u64]) -> Appended {
        let own = self.words();
        let head = own.head.load(Ordering::Relaxed);
        let next = head.wrapping_add(size_of_val(words) as u64);
        // Acquire pairs with the Release in `take_to`, also by way of another writer.
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

    /// As [`Alone::append`], if the fast path applies: there is room, and the entry is not the last one of its block.
    /// If not, nothing is done, and the clock is not read. Returns whether the entry was appended.
    #[inline(always)]
    pub fn append_short<const WORDS: usize>(&self, time: impl FnOnce() -> u64, mut words: [u64; WORDS]) -> bool {
        let own = self.words();
        let head = own.head.load(Ordering::Relaxed);
        let next = head.wrapping_add(8 * WORDS as u64);
        // Acquire pairs with the Release in `take_to`, also by way of another writer.
        if next % (BLOCK as u64) < 8 * WORDS as u64
            || next.wrapping_sub(own.reader.gate.load(Ordering::Acquire)) > self.limit
        {
            return false;
        }
        // SAFETY: the masked position is a multiple of 8 within the data, and so is the end, since both are in one block.
        let place: &[AtomicU64; WORDS] = unsafe { self.data(head).cast().as_ref() };
        words[0] = time();
        // Relaxed: the head publishes it.
        place.iter().zip(words).for_each(|(place, word)| place.store(word.to_le(), Ordering::Relaxed));
        publish(own, next, own.count.load(Ordering::Relaxed).wrapping_add(1));
        true
    }

    #[inline(always)]
    fn words(&self) -> &LogWords {
        // SAFETY: `log` keeps the mapping, and there are log words at the beginning of a log.
        unsafe { self.place.cast().as_ref() }
    }

    /// The address of 8 bytes of the data; valid for every position.
    #[inline(always)]
    fn data(&self, at: u64) -> NonNull<AtomicU64> {
        // SAFETY: the masked position is within the data, which lies inside the log.
        unsafe { self.place.byte_add(DATA_AT + (at & self.mask) as usize).cast() }
    }

    #[inline(always)]
    fn put(&self, at: u64, word: u64) {
        // SAFETY: a multiple of 8 within the mapping that `log` keeps.
        let place = unsafe { self.data(at).as_ref() };
        // Relaxed: the head publishes it.
        place.store(word.to_le(), Ordering::Relaxed);
    }

    /// The next entry begins in another block.
    #[cold]
    #[inline(never)]
    fn mark(&self, position: u64, count: u64) {
        let mark = &self.log.marks[(position & self.mask) as usize / BLOCK].0;
        mark.position.store(position, Ordering::Relaxed);
        mark.count.store(count, Ordering::Relaxed);
    }

    /// Counts an entry that found no room, as the log's owner.
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
    // A signal handler sees both stores or none; a writer that is killed between them leaves only the count one too
    // small.
    compiler_fence(Ordering::SeqCst);
    own.count.store(count, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
