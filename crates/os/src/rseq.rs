//! Restartable sequences, rseq(2): a few stores to memory of the current CPU, which happen as a whole or not at
//! all, without an atomic instruction. If the thread is preempted, moved or handles a signal in between, the kernel lets
//! it begin again.
//!
//! It has the two that [`crate::ticks`]-stamped logs need: appending an entry to the CPU's log, and counting an entry
//! that found no room. [`LogWords`] is their view of a log; `headwater_shm::logs` owns the memory.

use std::sync::atomic::{AtomicIsize, AtomicU64, Ordering};

/// Bytes of a log that one entry of its index stands for. No entry of a log is longer.
pub const BLOCK: usize = 4096;

/// Where the data of a log begins: on the page behind the words.
pub const DATA_AT: usize = BLOCK;

/// The offset of the index of a log with this many bytes of data (a power of two, at least [`BLOCK`]): behind the data.
pub const fn index_at(bytes: usize) -> usize {
    DATA_AT + bytes
}

/// Bytes of such a log.
pub const fn log_bytes(bytes: usize) -> usize {
    (index_at(bytes) + bytes / BLOCK * size_of::<Mark>()).next_multiple_of(BLOCK)
}

/// Words up to which an entry is appended from registers.
pub const SHORT: usize = 4;

/// The words before the data and the index of a log. Positions and counts only grow.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct LogWords {
    /// Position behind the newest entry, bytes. Stored with `count` by one instruction: that makes an entry one.
    pub head: AtomicU64,
    /// Entries so far.
    pub count: AtomicU64,
    /// Entries that found no room.
    pub lost: AtomicU64,
    /// The owner, a thread's id, of a log that is not a CPU's.
    pub owner: AtomicU64,
    /// The reader's words, on another cache line than the writer's.
    pub reader: ReaderWords,
}

/// How far the reader has come.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct ReaderWords {
    /// The position from which writers count the room: `tail`, or one so far before it that only a part of the log seems
    /// to be there. The writer that fills that part opens the rest, by storing `tail`, and wakes the reader.
    pub gate: AtomicU64,
    /// The reader's position, bytes. Written by the reader alone.
    pub tail: AtomicU64,
}

impl LogWords {
    /// Opens the log to its end for an entry of `len` bytes, if `limit` bytes may lie between tail and head:
    /// [`Appended::Due`]. Without room [`Appended::Full`].
    #[cold]
    pub fn find_room(&self, len: u64, limit: u64) -> Appended {
        let reader = &self.reader;
        // Acquire: the tail is not older than the gate. Without it, a log that was closed meanwhile could be opened.
        let gate = reader.gate.load(Ordering::Acquire);
        // Acquire: what the reader has read may be overwritten, and the head is not older than the tail: the difference to an older
        // one, from before this thread was preempted or handled a signal, would be that of a full log.
        let tail = reader.tail.load(Ordering::Acquire);
        let head = self.head.load(Ordering::Relaxed);
        if head.wrapping_add(len).wrapping_sub(tail) > limit {
            // The next attempt looks again if the reader has come further meanwhile.
            return if reader.tail.load(Ordering::Relaxed) == tail { Appended::Full } else { Appended::Due };
        }
        if gate != tail {
            // Not if the reader has stored another one meanwhile: it may have closed the log. Release: a writer that reads the
            // gate may overwrite what the reader has read.
            let _ = reader.gate.compare_exchange(gate, tail, Ordering::Release, Ordering::Relaxed);
        }
        Appended::Due
    }
}

/// For a block of the data: where the first entry in it begins. Written by the writer before it publishes the entry.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Mark {
    /// Position, bytes.
    pub position: AtomicU64,
    /// How many entries come before it.
    pub count: AtomicU64,
}

/// The log of one CPU, as a process has mapped it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CpuLog {
    /// Its [`LogWords`].
    log: *mut u8,
    /// Bytes that may lie between gate and head. More than the log has: old entries are overwritten.
    limit: u64,
    /// Bytes of data minus one.
    mask: u64,
    /// The offset of a thread's rseq area from the thread pointer.
    area: isize,
    cpu: u32,
}

// SAFETY: the memory is accessed by the sequences below alone, and only on its CPU.
unsafe impl Send for CpuLog {}
// SAFETY: as above.
unsafe impl Sync for CpuLog {}

/// The outcome of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// It is in the log.
    Written,
    /// There is no room: nothing is done. The caller may wait for room, and append again, or count the entry as lost.
    Full,
    /// Nothing is done, because as much is in the log as its reader waits for. Now there is room to the log's end: the
    /// caller wakes the reader and appends again.
    Due,
    /// The thread is on another CPU than the log's: nothing is done.
    Elsewhere,
}

/// The CPU that the calling thread is on, as its rseq area has it: by a load. None without such an area.
#[inline]
pub fn cpu() -> Option<u32> {
    area().and_then(read_cpu)
}

/// Whether threads of this process have an rseq area: the C library registers one (glibc since 2.35, unless
/// `GLIBC_TUNABLES` has `glibc.pthread.rseq=0`), and this processor's sequences are written.
pub fn is_available() -> bool {
    area().is_some()
}

fn area() -> Option<isize> {
    /// No distance of an area from a thread's pointer: not looked up yet; there is none.
    const UNKNOWN: isize = isize::MIN;
    const NONE: isize = isize::MIN + 1;
    // Not a lock for the first one: a child that is forked while another thread looks it up would wait for that thread
    // for ever. Relaxed: every thread that looks it up finds the same.
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
    /// Bytes of the area that the sequences use.
    const USED: u32 = 20;
    // SAFETY: the names end with a NUL. Where the C library has them, they are constants of these types, and 0 or less than
    // what is used says that no area is registered.
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
    // SAFETY: each thread has an area at that place, whose second word is the CPU.
    unsafe {
        std::arch::asm!("mov {cpu:e}, dword ptr fs:[{area} + 4]", cpu = out(reg) cpu, area = in(reg) area,
            options(nostack, readonly, preserves_flags));
    }
    // For a thread that is not registered it is -1 or -2.
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

/// A sequence between the labels 4 and 9. When it is interrupted it begins again at 2.
///
/// Soundness: by [`CpuLog::new`] the log is writable memory; positions in it are masked, and places in the index
/// follow from masked positions, so whatever the memory holds, no store leaves the log. Between the labels no register
/// changes that is needed when it begins again, and nothing is published before the last store. The descriptor,
/// and the signature before the code for an interruption, are as rseq(2) wants them.
///
/// Speed: nothing overlaps with the reading of the counter, so every other instruction counts.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
macro_rules! sequence {
    ($log:ident, elsewhere: $elsewhere:block, [$($line:literal,)*], $($operands:tt)*) => {
        std::arch::asm!(
            // The descriptor: flags, from, length, where to go when it is interrupted.
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
    /// The log of a CPU at `log`, with `bytes` of data. Without rseq None.
    ///
    /// # Safety
    /// For as long as a copy of the result is used, `log` must point to [`log_bytes`]`(bytes)` bytes that are writable and
    /// aligned to [`BLOCK`]; `bytes` is a power of two of at least [`BLOCK`]. Only these sequences write to them, and
    /// the reader to its words; a program that breaks this can corrupt the contents of the log and nothing else.
    pub unsafe fn new(log: *mut u8, bytes: usize, limit: u64, cpu: u32) -> Option<CpuLog> {
        area().map(|area| CpuLog { log, limit, mask: bytes as u64 - 1, area, cpu })
    }

    /// Appends two to four words, the first one being replaced by a time stamp of [`crate::ticks`], if that is nothing but
    /// a few stores from registers: we are on the log's CPU, there is room, and the entry is not the last one of its
    /// block. If not, nothing is done but `otherwise`.
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
                    // Does the next entry begin in another block? Then within the first 32 bytes of it.
                    "lea rax, [{head} + {bytes}]",
                    "test eax, 4096 - 32",
                    "jz {elsewhere}",
                    // Is there room?
                    "sub rax, qword ptr [{log} + 128]",
                    "cmp rax, qword ptr [{this} + 8]",
                    "ja {elsewhere}",
                    // In its block, this one does not reach the end of the data.
                    "and {head}, qword ptr [{this} + 16]",
                    "mov qword ptr [{log} + {head} + 4096], rdx",
                    "mov qword ptr [{log} + {head} + 4104], {second}",
                    ".if {bytes} > 16",
                    "mov qword ptr [{log} + {head} + 4112], {third}",
                    ".endif",
                    ".if {bytes} > 24",
                    "mov qword ptr [{log} + {head} + 4120], {fourth}",
                    ".endif",
                    // Head and count, both stored at once: that publishes the entry.
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

    /// Appends the words to the log, if we are on its CPU; the first one is replaced by a time stamp of
    /// [`crate::ticks`], which in one log never goes back. Threads and signal handlers need no care. At least two words,
    /// and at most [`BLOCK`] bytes.
    ///
    /// # Panics
    /// For another number of words.
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
                    // Behind the data: the mask is a byte less than that.
                    "mov qword ptr [{log} + {head} + 4097], rax",
                    "mov qword ptr [{log} + {head} + 4105], rdx",
                    "20:",
                    "movq xmm0, rax",
                    "movq xmm1, rdx",
                    "punpcklqdq xmm0, xmm1",
                    // Head and count, both stored at once: that publishes the entry.
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

    /// Opens the log to its end for an entry of so many words, if there is room.
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
    #[cold]
    #[inline(never)]
    fn find_room(&self, words: usize) -> Appended {
        // SAFETY: the words lie at the beginning of the log, and are atomics.
        let log: &LogWords = unsafe { &*self.log.cast() };
        log.find_room(words as u64 * 8, self.limit)
    }

    /// Counts an entry that found no room, if we are on the log's CPU; returns whether we are.
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
    #[cold]
    #[inline(never)]
    pub fn count_lost(&self) -> bool {
        // SAFETY: see `sequence`; the only store is the addition.
        unsafe { sequence!(self, elsewhere: { return false }, ["add qword ptr [{log} + 16], 1",],) };
        true
    }

    /// Without rseq there is no such log.
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
    #[inline]
    pub fn append_short<const WORDS: usize>(&self, _words: [u64; WORDS], otherwise: impl FnOnce()) {
        otherwise();
    }

    /// Without rseq there is no such log.
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
    #[inline]
    pub fn append(&self, _words: &[u64]) -> Appended {
        Appended::Elsewhere
    }

    /// Without rseq there is no such log.
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
    pub fn count_lost(&self) -> bool {
        false
    }
}

const _: () = {
    use std::mem::offset_of;
    // The sequences name these places by number.
    assert!(offset_of!(CpuLog, limit) == 8 && offset_of!(CpuLog, mask) == 16 && offset_of!(CpuLog, cpu) == 32);
    assert!(offset_of!(LogWords, head) == 0 && offset_of!(LogWords, count) == 8 && offset_of!(LogWords, lost) == 16);
    assert!(offset_of!(LogWords, reader) == 128 && offset_of!(ReaderWords, gate) == 0);
    assert!(size_of::<LogWords>() == 256 && size_of::<Mark>() == 16);
    assert!(BLOCK == 1 << 12 && DATA_AT == 4096);
};

#[cfg(test)]
mod tests;
