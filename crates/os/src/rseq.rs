//! Restartable sequences, rseq(2): a few stores to memory of the current CPU, of which all or none take effect, without an atomic
//! instruction. If the thread is preempted, moved or handles a signal in between, the kernel restarts the sequence.
//!
//! There are two sequences, for logs with time stamps of [`crate::ticks`]: one appends an entry to the CPU's log, the other counts
//! an entry for which there was no room. They access a log through [`LogWords`]. `headwater_shm::logs` owns the memory.

use std::sync::atomic::{AtomicIsize, AtomicU64, Ordering};

/// The size in bytes of a block of data. The index has a [`Mark`] for each block. No entry of a log is longer than a block.
pub const BLOCK: usize = 4096;

/// The offset of the data of a log: the page after the words.
pub const DATA_AT: usize = BLOCK;

/// Returns the offset of the index, which follows the data. The log has `bytes` bytes of data, a power of two of at least
/// [`BLOCK`].
pub const fn index_at(bytes: usize) -> usize {
    DATA_AT + bytes
}

/// Returns the size in bytes of a log with `bytes` bytes of data.
pub const fn log_bytes(bytes: usize) -> usize {
    (index_at(bytes) + bytes / BLOCK * size_of::<Mark>()).next_multiple_of(BLOCK)
}

/// The largest number of words in an entry that is appended from registers.
pub const SHORT: usize = 4;

/// The header of a log, before its data and its index. Positions and counts only grow.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct LogWords {
    /// The position after the newest entry, in bytes. One instruction stores it together with `count`, which publishes the entry.
    pub head: AtomicU64,
    /// The number of entries that were appended.
    pub count: AtomicU64,
    /// The number of entries that were lost, because there was no room.
    pub lost: AtomicU64,
    /// The id of the thread that owns the log, if it is not the log of a CPU.
    pub owner: AtomicU64,
    /// The words of the reader, on another cache line than those of the writer.
    pub reader: ReaderWords,
}

/// The progress of the reader.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct ReaderWords {
    /// The position from which writers count the room. It is `tail`, or an earlier position, with which only a part of the log
    /// seems to be free. The writer that fills this part stores `tail` here, which opens the rest, and wakes the reader.
    pub gate: AtomicU64,
    /// The reader's position in bytes. Written only by the reader.
    pub tail: AtomicU64,
}

impl LogWords {
    /// Opens the whole log for an entry of `len` bytes, and returns [`Appended::Due`]. Returns [`Appended::Full`] if there would
    /// then be more than `limit` bytes between tail and head.
    #[cold]
    pub fn find_room(&self, len: u64, limit: u64) -> Appended {
        let reader = &self.reader;
        // Acquire: the tail must not be older than the gate. Otherwise a log that was closed meanwhile could be opened.
        let gate = reader.gate.load(Ordering::Acquire);
        // Acquire: what the reader has read may be overwritten. And the head must not be older than the tail: with an older head,
        // from before this thread was preempted or handled a signal, the log would seem full.
        let tail = reader.tail.load(Ordering::Acquire);
        let head = self.head.load(Ordering::Relaxed);
        if head.wrapping_add(len).wrapping_sub(tail) > limit {
            // If the reader has advanced meanwhile, the caller tries again.
            return if reader.tail.load(Ordering::Relaxed) == tail { Appended::Full } else { Appended::Due };
        }
        if gate != tail {
            // An exchange, because the reader may have stored another gate meanwhile to close the log. Release: a writer that
            // reads the gate may overwrite what the reader has read.
            let _ = reader.gate.compare_exchange(gate, tail, Ordering::Release, Ordering::Relaxed);
        }
        Appended::Due
    }
}

/// The index entry of a block: where the first entry in the block begins. The writer stores it before it publishes the entry.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Mark {
    /// The position of the entry in bytes.
    pub position: AtomicU64,
    /// The number of entries before it.
    pub count: AtomicU64,
}

/// The log of a CPU, as this process has mapped it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CpuLog {
    /// The address of the log, which begins with its [`LogWords`].
    log: *mut u8,
    /// The largest distance between gate and head in bytes. If it is more than the log has, old entries are overwritten.
    limit: u64,
    /// The number of bytes of data, minus one.
    mask: u64,
    /// The offset of a thread's rseq area from the thread pointer.
    area: isize,
    cpu: u32,
}

// SAFETY: only the sequences below access the memory, and only on its CPU.
unsafe impl Send for CpuLog {}
// SAFETY: as above.
unsafe impl Sync for CpuLog {}

/// The outcome of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// The entry is in the log.
    Written,
    /// Nothing was written, because there is no room. The caller may wait for room and append again, or count the entry as lost.
    Full,
    /// Nothing was written, because the log contains as much as its reader waits for. Now the whole log is open: the caller must
    /// wake the reader and append again.
    Due,
    /// Nothing was written, because the thread is on another CPU than the log.
    Elsewhere,
}

/// Returns the CPU of the calling thread by a load from its rseq area; `None` without such an area.
#[inline]
pub fn cpu() -> Option<u32> {
    area().and_then(read_cpu)
}

/// Returns whether the sequences can be used: they exist for this processor, and the C library registers an rseq area for each
/// thread (glibc since 2.35, unless `GLIBC_TUNABLES` contains `glibc.pthread.rseq=0`).
pub fn is_available() -> bool {
    area().is_some()
}

fn area() -> Option<isize> {
    /// The offset was not looked up yet. No area has this offset.
    const UNKNOWN: isize = isize::MIN;
    /// There is no area. No area has this offset.
    const NONE: isize = isize::MIN + 1;
    // There is no lock: a child that is forked while another thread looks up the offset would wait for that thread for ever.
    // Relaxed: all threads find the same offset.
    static AREA: AtomicIsize = AtomicIsize::new(UNKNOWN);
    let found = match AREA.load(Ordering::Relaxed) {
        UNKNOWN => {
            let found = find_area().unwrap_or(NONE);
            AREA.store(found, Ordering::Relaxed);
            found
        }
        found => found,
    };
    (found != NONE).then_some(found)
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
fn find_area() -> Option<isize> {
    /// The number of bytes of the area that the sequences use.
    const USED: u32 = 20;
    // SAFETY: the names end with a NUL. If the C library has these symbols, they are constants of these types. A size of less
    // than `USED` means that no area is registered.
    unsafe {
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        (!size.is_null() && !offset.is_null() && *size >= USED).then(|| *offset)
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
#[inline]
fn read_cpu(area: isize) -> Option<u32> {
    let cpu: u32;
    // SAFETY: each thread has an area at this offset, whose second word is the CPU.
    unsafe {
        std::arch::asm!("mov {cpu:e}, dword ptr fs:[{area} + 4]", cpu = out(reg) cpu, area = in(reg) area,
            options(nostack, readonly, preserves_flags));
    }
    // The word is -1 or -2 for a thread that is not registered.
    (cpu as i32 >= 0).then_some(cpu)
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
fn find_area() -> Option<isize> {
    None
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
fn read_cpu(_area: isize) -> Option<u32> {
    None
}

/// A sequence between the labels 4 and 9. If it is interrupted, it restarts at 2.
///
/// Soundness: the contract of [`CpuLog::new`] says that the log is writable memory. Positions in it are masked, and places in the
/// index follow from masked positions. So no store leaves the log, whatever the memory contains. Between the labels no register
/// changes that a restart needs, and nothing is published before the last store. The descriptor, and the signature before the
/// code for an interruption, have the form that rseq(2) requires.
///
/// Speed: no instruction overlaps with the reading of the counter, so each one costs time.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
macro_rules! sequence {
    ($log:ident, elsewhere: $elsewhere:block, [$($line:literal,)*], $($operands:tt)*) => {
        std::arch::asm!(
            // The descriptor: version and flags, start, length, and where to continue after an interruption.
            ".pushsection __rseq_cs, \"aw\"",
            ".balign 32",
            "3:",
            ".long 0, 0",
            ".quad 4f, 9f - 4f, 8f",
            ".popsection",
            ".pushsection __rseq_failure, \"ax\"",
            // The signature, as the operand of an invalid instruction.
            ".byte 0x0f, 0xb9, 0x3d",
            ".long 0x53053053",
            "8:",
            "jmp 2f",
            ".popsection",
            "2:",
            "lea rax, [rip + 3b]",
            "mov qword ptr fs:[{area} + 8], rax",
            "4:",
            "rdtsc",
            "shl rdx, 32",
            "or rdx, rax",
            "mov eax, dword ptr [{this} + 32]",
            "cmp eax, dword ptr fs:[{area} + 4]",
            "jne {elsewhere}",
            $($line,)*
            "9:",
            $($operands)*
            this = in(reg) $log,
            log = in(reg) $log.log,
            area = in(reg) $log.area,
            out("rax") _,
            out("rdx") _,
            elsewhere = label $elsewhere,
            options(nostack),
        )
    };
}

impl CpuLog {
    /// Makes the log of a CPU at `log`, with `bytes` bytes of data; `None` without rseq.
    ///
    /// # Safety
    /// As long as a copy of the result is used, `log` must point to [`log_bytes`]`(bytes)` bytes that are writable and aligned to
    /// [`BLOCK`], and `bytes` must be a power of two of at least [`BLOCK`]. Only these sequences may write to them, and the reader
    /// to its words. A process that breaks this last rule can corrupt only the contents of the log.
    pub unsafe fn new(log: *mut u8, bytes: usize, limit: u64, cpu: u32) -> Option<CpuLog> {
        area().map(|area| CpuLog { log, limit, mask: bytes as u64 - 1, area, cpu })
    }

    /// Appends two to four words, of which a time stamp of [`crate::ticks`] replaces the first. Does so only in the simple case of
    /// a few stores from registers: the thread is on the log's CPU, there is room, and the entry is not the last one of its block.
    /// In all other cases calls `otherwise` instead.
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
    #[inline(always)]
    pub fn append_short<const WORDS: usize>(&self, words: [u64; WORDS], otherwise: impl FnOnce()) {
        if WORDS < 2 || WORDS > SHORT {
            return otherwise();
        }
        let [second, third, fourth] = [1, 2, 3].map(|place| words.get(place).copied().unwrap_or_default());
        // SAFETY: see `sequence`.
        unsafe {
            sequence!(
                self,
                elsewhere: { otherwise() },
                [
                    "mov {head}, qword ptr [{log}]",
                    // Does the next entry begin in another block? Then it begins within the first 32 bytes.
                    "lea rax, [{head} + {bytes}]",
                    "test eax, 4096 - 32",
                    "jz {elsewhere}",
                    // Is there room?
                    "sub rax, qword ptr [{log} + 128]",
                    "cmp rax, qword ptr [{this} + 8]",
                    "ja {elsewhere}",
                    // The entry ends within its block, so it does not reach the end of the data.
                    "and {head}, qword ptr [{this} + 16]",
                    "mov qword ptr [{log} + {head} + 4096], rdx",
                    "mov qword ptr [{log} + {head} + 4104], {second}",
                    ".if {bytes} > 16",
                    "mov qword ptr [{log} + {head} + 4112], {third}",
                    ".endif",
                    ".if {bytes} > 24",
                    "mov qword ptr [{log} + {head} + 4120], {fourth}",
                    ".endif",
                    // Store head and count at once: that publishes the entry.
                    "movdqa xmm0, xmmword ptr [{log}]",
                    ".pushsection .rodata.cst16, \"aM\", @progbits, 16",
                    ".balign 16",
                    "5:",
                    ".quad {bytes}, 1",
                    ".popsection",
                    "paddq xmm0, xmmword ptr [rip + 5b]",
                    "movdqa xmmword ptr [{log}], xmm0",
                ],
                bytes = const 8 * WORDS,
                second = in(reg) second,
                third = in(reg) third,
                fourth = in(reg) fourth,
                head = out(reg) _,
                out("xmm0") _,
            );
        }
    }

    /// Appends an entry if the thread is on the log's CPU. A time stamp of [`crate::ticks`] replaces the first word; in one log the
    /// stamps never decrease. All threads and signal handlers may call this at any time. An entry has at least two words and at
    /// most [`BLOCK`] bytes.
    ///
    /// # Panics
    /// If the entry is shorter or longer.
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
    #[inline(never)]
    pub fn append(&self, words: &[u64]) -> Appended {
        assert!(words.len() >= 2 && words.len() <= BLOCK / 8, "an entry of two words to a block");
        // SAFETY: see `sequence`; `words` is read up to its length.
        unsafe {
            sequence!(
                self,
                elsewhere: { return Appended::Elsewhere },
                [
                    "mov {head}, qword ptr [{log}]",
                    // Is there room?
                    "lea rax, [{head} + {len}]",
                    "sub rax, qword ptr [{log} + 128]",
                    "cmp rax, qword ptr [{this} + 8]",
                    "ja {full}",
                    // The stamp, then the other words.
                    "xor {i:e}, {i:e}",
                    "7:",
                    "lea rax, [{head} + {i}]",
                    "and rax, qword ptr [{this} + 16]",
                    "mov qword ptr [{log} + rax + 4096], rdx",
                    "add {i}, 8",
                    "cmp {i}, {len}",
                    "jae 6f",
                    "mov rdx, qword ptr [{words} + {i}]",
                    "jmp 7b",
                    "6:",
                    "mov rdx, qword ptr [{log} + 8]",
                    "inc rdx",
                    // Does the next entry begin in another block?
                    "lea rax, [{head} + {len}]",
                    "xor {head}, rax",
                    "shr {head}, 12",
                    "jz 20f",
                    "mov {head}, rax",
                    "and {head}, qword ptr [{this} + 16]",
                    "shr {head}, 12",
                    "shl {head}, 4",
                    "add {head}, qword ptr [{this} + 16]",
                    // The index follows the data. The mask is one byte less than the size of the data.
                    "mov qword ptr [{log} + {head} + 4097], rax",
                    "mov qword ptr [{log} + {head} + 4105], rdx",
                    "20:",
                    "movq xmm0, rax",
                    "movq xmm1, rdx",
                    "punpcklqdq xmm0, xmm1",
                    // Store head and count at once: that publishes the entry.
                    "movdqa xmmword ptr [{log}], xmm0",
                ],
                len = in(reg) words.len() * 8,
                words = in(reg) words.as_ptr(),
                head = out(reg) _,
                i = out(reg) _,
                out("xmm0") _,
                out("xmm1") _,
                full = label { return self.find_room(words.len()) },
            );
        }
        Appended::Written
    }

    /// Opens the whole log for an entry of this many words, if there is room.
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
    #[cold]
    #[inline(never)]
    fn find_room(&self, words: usize) -> Appended {
        // SAFETY: the words are at the beginning of the log, and are atomics.
        let log: &LogWords = unsafe { &*self.log.cast() };
        log.find_room(words as u64 * 8, self.limit)
    }

    /// Counts a lost entry if the thread is on the log's CPU. Returns whether it is.
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
    #[cold]
    #[inline(never)]
    pub fn count_lost(&self) -> bool {
        // SAFETY: see `sequence`; the only store is the addition.
        unsafe { sequence!(self, elsewhere: { return false }, ["add qword ptr [{log} + 16], 1",],) };
        true
    }

    /// Does nothing: without rseq there is no such log.
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
    #[inline]
    pub fn append_short<const WORDS: usize>(&self, _words: [u64; WORDS], otherwise: impl FnOnce()) {
        otherwise();
    }

    /// Does nothing: without rseq there is no such log.
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
    #[inline]
    pub fn append(&self, _words: &[u64]) -> Appended {
        Appended::Elsewhere
    }

    /// Does nothing: without rseq there is no such log.
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
    pub fn count_lost(&self) -> bool {
        false
    }
}

const _: () = {
    use std::mem::offset_of;
    // The sequences contain these offsets as numbers.
    assert!(offset_of!(CpuLog, limit) == 8 && offset_of!(CpuLog, mask) == 16 && offset_of!(CpuLog, cpu) == 32);
    assert!(offset_of!(LogWords, head) == 0 && offset_of!(LogWords, count) == 8 && offset_of!(LogWords, lost) == 16);
    assert!(offset_of!(LogWords, reader) == 128 && offset_of!(ReaderWords, gate) == 0);
    assert!(size_of::<LogWords>() == 256 && size_of::<Mark>() == 16);
    assert!(BLOCK == 1 << 12 && DATA_AT == 4096);
};

#[cfg(test)]
mod tests;
