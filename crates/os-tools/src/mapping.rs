//! Mappings of one process: made, touched, protected, emptied and unmapped, so that what the kernel does for them can be
//! measured, and memory to run loops over. What processes share is [`headwater_os::memory`].
//!
//! A mapping is handed out as [`Word`]s or [`Integer`]s; a private one that is borrowed mutably, as plain bytes too. It never grows.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munmap};

/// Bytes of the smallest page.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Eight bytes of a mapping. Each load and store is an instruction of its own: the compiler neither joins nor drops them.
#[derive(Debug)]
#[repr(transparent)]
pub struct Word(AtomicU64);

impl Word {
    /// Loads it.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        // Relaxed: nothing is published with it; atomic, because the mapping of a file may change at any time.
        self.0.load(Ordering::Relaxed)
    }

    /// Stores `value`. The borrow is mutable, so that what is mapped read-only is never stored to.
    #[inline(always)]
    pub fn set(&mut self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// Four bytes of a mapping. Each load and store is an instruction of its own, as those of a [`Word`].
#[derive(Debug)]
#[repr(transparent)]
pub struct Integer(AtomicU32);

impl Integer {
    /// Loads it.
    #[inline(always)]
    pub fn get(&self) -> u32 {
        // Relaxed and atomic: as for a word.
        self.0.load(Ordering::Relaxed)
    }

    /// Stores `value`. The borrow is mutable, so that what is mapped read-only is never stored to.
    #[inline(always)]
    pub fn set(&mut self, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// Elements that are added up by one turn of a loop.
pub const TURN: usize = 32;

/// Elements of a mapping that can be added up.
pub trait Element: Sized {
    /// A sum of such elements, modulo its range.
    type Sum: Copy + Default;

    /// Adds all elements of a turn to two sums, by turns. On x86-64 each is one instruction that loads and adds.
    fn add_all(turn: &[Self; TURN], sums: &mut [Self::Sum; 2]);

    /// The sum of both, and of elements that make no turn.
    fn total(sums: [Self::Sum; 2], rest: &[Self]) -> Self::Sum;
}

/// Adds every `step`th element of a turn to two sums, by turns; on x86-64 those are the ones at these byte offsets.
macro_rules! add_by_turns {
    ($turn:expr, $step:literal, $sums:expr, $register:literal, [$($one:literal $two:literal)*]) => {{
        let [mut one, mut two] = *$sums;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: loads inside the turn, which is readable while it is borrowed; nothing is stored.
        unsafe {
            std::arch::asm!(
                $(concat!("add {one", $register, "}, [{turn} + ", $one, "]"),
                  concat!("add {two", $register, "}, [{turn} + ", $two, "]"),)*
                turn = in(reg) $turn.as_ptr(), one = inout(reg) one, two = inout(reg) two, options(nostack, readonly)
            );
        }
        #[cfg(not(target_arch = "x86_64"))]
        for pair in $turn.chunks(2 * $step) {
            one = one.wrapping_add(pair[0].get());
            two = two.wrapping_add(pair[$step].get());
        }
        *$sums = [one, two];
    }};
}

impl Element for Word {
    type Sum = u64;

    #[inline(always)]
    fn add_all(turn: &[Word; TURN], sums: &mut [u64; 2]) {
        add_by_turns!(turn, 1, sums, ":r", [
            0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120 128 136 144 152 160 168 176 184 192 200 208 216
            224 232 240 248
        ]);
    }

    fn total(sums: [u64; 2], rest: &[Word]) -> u64 {
        rest.iter().map(Word::get).chain(sums).fold(0, u64::wrapping_add)
    }
}

impl Element for Integer {
    type Sum = u32;

    #[inline(always)]
    fn add_all(turn: &[Integer; TURN], sums: &mut [u32; 2]) {
        add_by_turns!(turn, 1, sums, ":e", [
            0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64 68 72 76 80 84 88 92 96 100 104 108 112 116 120 124
        ]);
    }

    fn total(sums: [u32; 2], rest: &[Integer]) -> u32 {
        rest.iter().map(Integer::get).chain(sums).fold(0, u32::wrapping_add)
    }
}

impl Integer {
    /// Adds every fourth integer of a turn to two sums, as [`Element::add_all`].
    #[inline(always)]
    pub fn add_fourth(turn: &[Integer; TURN], sums: &mut [u32; 2]) {
        add_by_turns!(turn, 4, sums, ":e", [0 16 32 48 64 80 96 112]);
    }
}

/// Anonymous memory of this process alone; a forked child has a copy. Unmapped when dropped.
#[derive(Debug)]
pub struct Memory(Range);

impl Memory {
    /// Maps `len` bytes of zeros (rounded up to a page), readable and writable, whose pages come at first touch; they
    /// begin at a multiple of `align`, a power of two, and of the page.
    ///
    /// # Errors
    /// `InvalidInput` for no byte, or an alignment that is no power of two; what `mmap(2)` reports.
    pub fn new(len: usize, align: usize) -> io::Result<Memory> {
        let page = page_bytes();
        let align = align.max(page);
        let spare = len.checked_next_multiple_of(page).and_then(|len| len.checked_add(align - page));
        match (len, spare) {
            (1.., Some(spare)) if align.is_power_of_two() => {
                // SAFETY: a fresh mapping at an address of the kernel's choice replaces nothing.
                let range = Range::of(spare, |len| unsafe {
                    mmap_anonymous(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
                })?;
                Ok(Memory(range.narrowed(align, len.next_multiple_of(page))))
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// As [`Memory::new`] with the alignment of a page, and every page is there: no later access faults.
    ///
    /// # Errors
    /// As [`Memory::new`]; `OutOfMemory` where the kernel has not enough.
    pub fn populated(len: usize) -> io::Result<Memory> {
        let mut memory = Memory::new(len, 0)?;
        match memory.0.advise(Advice::LinuxPopulateWrite) {
            // Linux before 5.14 does not know it.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => memory.bytes_mut().fill(0),
            populated => populated?,
        }
        Ok(memory)
    }

    /// Asks the kernel for huge pages wherever the range allows them; it may not follow.
    ///
    /// # Errors
    /// `InvalidInput` from a kernel without them.
    pub fn ask_for_huge_pages(&mut self) -> io::Result<()> {
        self.0.advise(Advice::LinuxHugepage)
    }

    /// Asks the kernel for small pages.
    ///
    /// # Errors
    /// `InvalidInput` from a kernel that has no others.
    pub fn ask_for_small_pages(&mut self) -> io::Result<()> {
        self.0.advise(Advice::LinuxNoHugepage)
    }

    /// Gives all pages back; the next touch finds zeros.
    ///
    /// # Errors
    /// What `madvise(2)` reports.
    pub fn empty(&mut self) -> io::Result<()> {
        self.0.advise(Advice::LinuxDontNeed)
    }

    /// Makes it read-only and then writable again: two calls of `mprotect(2)`.
    ///
    /// # Errors
    /// What `mprotect(2)` reports.
    #[inline]
    pub fn protect_and_back(&mut self) -> io::Result<()> {
        self.protect(MprotectFlags::READ)?;
        self.protect(MprotectFlags::READ | MprotectFlags::WRITE)
    }

    /// Its words, for reading.
    pub fn words(&self) -> &[Word] {
        self.0.words()
    }

    /// Its integers, for reading.
    pub fn integers(&self) -> &[Integer] {
        self.0.integers()
    }

    /// Its words.
    pub fn words_mut(&mut self) -> &mut [Word] {
        // SAFETY: as for `bytes_mut`; a word is as long and at most as aligned as a page's part of 8 bytes.
        unsafe { std::slice::from_raw_parts_mut(self.0.base.as_ptr().cast(), self.0.len / size_of::<Word>()) }
    }

    /// Its integers.
    pub fn integers_mut(&mut self) -> &mut [Integer] {
        // SAFETY: as for the words.
        unsafe { std::slice::from_raw_parts_mut(self.0.base.as_ptr().cast(), self.0.len / size_of::<Integer>()) }
    }

    /// Its bytes, for reading.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the range is readable and private, and every store needs a mutable borrow.
        unsafe { std::slice::from_raw_parts(self.0.base.as_ptr(), self.0.len) }
    }

    /// Its bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the range is readable, writable, private and borrowed mutably, so nothing else accesses it.
        unsafe { std::slice::from_raw_parts_mut(self.0.base.as_ptr(), self.0.len) }
    }

    /// Where it begins. A caller that accesses it through this pointer is responsible for the borrows.
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.0.base
    }

    /// Changes the protection. A caller that makes it read-only ensures that no store follows, or that the fault is
    /// handled.
    #[inline]
    pub(crate) fn protect(&mut self, flags: MprotectFlags) -> io::Result<()> {
        // SAFETY: the range is our own mapping; no protection makes an access wrong, it can only fault.
        unsafe { mprotect(self.0.base.as_ptr().cast(), self.0.len, flags)? };
        Ok(())
    }
}

/// The beginning of a file, to be mapped shared.
#[derive(Debug)]
pub struct MappedFile {
    file: OwnedFd,
    len: usize,
}

/// A mapping of a [`MappedFile`]. Unmapped when dropped. If a process truncates the file, an access beyond its new end
/// ends the process with SIGBUS.
#[derive(Debug)]
pub struct View(Range);

/// A mapping of a [`MappedFile`] whose stores change the file. Otherwise as a [`View`].
#[derive(Debug)]
pub struct WritableView(Range);

impl MappedFile {
    /// The first `len` bytes of `file`, which is open for reading, or for both if it is to be mapped writable.
    ///
    /// # Errors
    /// `InvalidInput` if the file is shorter, or `len` is 0; what `fstat(2)` reports.
    pub fn new(file: OwnedFd, len: usize) -> io::Result<MappedFile> {
        let size = rustix::fs::fstat(&file)?.st_size;
        match usize::try_from(size) {
            Ok(size) if len > 0 && len <= size => Ok(MappedFile { file, len }),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "a file cannot be mapped beyond its end")),
        }
    }

    /// Maps it for reading: one `mmap(2)`. Pages come at first touch.
    ///
    /// # Errors
    /// What `mmap(2)` reports.
    #[inline]
    pub fn map(&self) -> io::Result<View> {
        self.range(ProtFlags::READ).map(View)
    }

    /// Maps it for reading and writing: one `mmap(2)`. Pages come at first touch.
    ///
    /// # Errors
    /// `PermissionDenied` if the file is not open for both; what else `mmap(2)` reports.
    #[inline]
    pub fn map_writable(&self) -> io::Result<WritableView> {
        self.range(ProtFlags::READ | ProtFlags::WRITE).map(WritableView)
    }

    #[inline]
    fn range(&self, protection: ProtFlags) -> io::Result<Range> {
        // SAFETY: a fresh mapping at an address of the kernel's choice replaces nothing.
        Range::of(self.len, |len| unsafe {
            mmap(ptr::null_mut(), len, protection, MapFlags::SHARED, self.file.as_fd(), 0)
        })
    }
}

impl WritableView {
    /// Stores `value` at `offset`. Panics beyond the end.
    #[inline]
    pub fn store(&mut self, offset: usize, value: u8) {
        assert!(offset < self.0.len, "a view is not written to beyond its end");
        // SAFETY: inside the mapping, which is writable; atomic, because others may read the file.
        unsafe { self.0.base.add(offset).cast::<AtomicU8>().as_ref() }.store(value, Ordering::Relaxed);
    }
}

impl View {
    /// Its words; what is left over at the end is none.
    #[inline]
    pub fn words(&self) -> &[Word] {
        self.0.words()
    }

    /// Its integers; what is left over at the end is none.
    #[inline]
    pub fn integers(&self) -> &[Integer] {
        self.0.integers()
    }

    /// Loads the byte at `offset`. Panics beyond the end.
    #[inline]
    pub fn byte(&self, offset: usize) -> u8 {
        assert!(offset < self.0.len, "a view is not read beyond its end");
        // SAFETY: inside the mapping, which is readable; atomic, because others may write to the file.
        unsafe { self.0.base.add(offset).cast::<AtomicU8>().as_ref() }.load(Ordering::Relaxed)
    }
}

/// A mapping. It is readable until it is dropped.
#[derive(Debug)]
struct Range {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread; what a shared borrow hands out is loaded atomically.
unsafe impl Send for Range {}
// SAFETY: as above.
unsafe impl Sync for Range {}

impl Range {
    /// What `map` has mapped of `len` bytes.
    #[inline]
    fn of(len: usize, map: impl FnOnce(usize) -> rustix::io::Result<*mut std::ffi::c_void>) -> io::Result<Range> {
        let base = NonNull::new(map(len)?.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Range { base, len })
    }

    /// The first `len` bytes of it that begin at a multiple of `align`; the rest is unmapped. It must have them.
    fn narrowed(self, align: usize, len: usize) -> Range {
        let skipped = self.base.align_offset(align);
        assert!(skipped.checked_add(len).is_some_and(|end| end <= self.len), "the caller has mapped enough");
        let whole = std::mem::ManuallyDrop::new(self);
        for (start, end) in [(0, skipped), (skipped + len, whole.len)] {
            if start < end {
                // SAFETY: this part of our own mapping was never handed out, and is left out of the range below.
                let _ = unsafe { munmap(whole.base.as_ptr().add(start).cast(), end - start) };
            }
        }
        // SAFETY: inside the mapping, checked above.
        Range { base: unsafe { whole.base.add(skipped) }, len }
    }

    fn advise(&self, advice: Advice) -> io::Result<()> {
        // SAFETY: the range is exactly our own mapping. Giving pages back changes bytes, so `Memory`,
        // which hands out plain borrows, does it with a mutable borrow only.
        unsafe { madvise(self.base.as_ptr().cast(), self.len, advice)? };
        Ok(())
    }

    #[inline]
    fn words(&self) -> &[Word] {
        // SAFETY: mapped and readable while `self` lives, aligned to a page; every bit pattern is a word, and its loads are
        // atomic, so that other processes may store meanwhile. A shared borrow of a word stores nothing.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().cast(), self.len / size_of::<Word>()) }
    }

    #[inline]
    fn integers(&self) -> &[Integer] {
        // SAFETY: as for the words.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().cast(), self.len / size_of::<Integer>()) }
    }
}

impl Drop for Range {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the range is our own mapping, and borrows of it have ended.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "our own mapping can be unmapped");
    }
}

#[cfg(test)]
mod tests;
