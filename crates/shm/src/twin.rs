//! The loom twin of `sync`: the same names over loom's atomics, a heap region and a modelled futex.
//!
//! Compiled under `--cfg loom` only. Loom's atomics are larger than real ones, so the words lie in a box instead of a
//! mapping; every byte of the window is a cell that loom watches for races. The modelled futex has no time limit: a
//! lost wake-up is a deadlock, which loom reports.

use std::io;
use std::time::Duration;

use headwater_os::futex::Slept;
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};

pub(crate) use loom::hint::spin_loop;
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
pub(crate) use loom::thread::yield_now;

use crate::error::Error;
use crate::layout::{Apart, End, Words};

/// An atomic on which a thread can sleep: the futex's queue lies beside its word.
#[derive(Debug)]
pub(crate) struct AtomicU32 {
    word: loom::sync::atomic::AtomicU32,
    queue: Mutex<()>,
    woken: Condvar,
}

impl AtomicU32 {
    pub(crate) fn new(value: u32) -> AtomicU32 {
        AtomicU32 { word: loom::sync::atomic::AtomicU32::new(value), queue: Mutex::new(()), woken: Condvar::new() }
    }

    pub(crate) fn load(&self, order: Ordering) -> u32 {
        self.word.load(order)
    }

    pub(crate) fn store(&self, value: u32, order: Ordering) {
        self.word.store(value, order);
    }

    pub(crate) fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.word.swap(value, order)
    }

    pub(crate) fn fetch_or(&self, bits: u32, order: Ordering) -> u32 {
        self.word.fetch_or(bits, order)
    }

    pub(crate) fn fetch_and(&self, bits: u32, order: Ordering) -> u32 {
        self.word.fetch_and(bits, order)
    }

    pub(crate) fn fetch_add(&self, count: u32, order: Ordering) -> u32 {
        self.word.fetch_add(count, order)
    }

    pub(crate) fn fetch_sub(&self, count: u32, order: Ordering) -> u32 {
        self.word.fetch_sub(count, order)
    }

    pub(crate) fn compare_exchange(&self, from: u32, to: u32, hit: Ordering, miss: Ordering) -> Result<u32, u32> {
        self.word.compare_exchange(from, to, hit, miss)
    }
}

/// A value that the model's threads share.
#[derive(Debug)]
pub struct Placed<T: ?Sized> {
    place: std::ptr::NonNull<T>,
    /// Keeps what `place` points to.
    _whole: Arc<dyn Keep>,
}

/// Something that is only kept.
trait Keep: std::fmt::Debug {}
impl<T: ?Sized + std::fmt::Debug> Keep for Box<T> {}

// SAFETY: it gives out shared references to what lives as long as it does; loom itself watches the accesses.
unsafe impl<T: ?Sized + Sync> Send for Placed<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for Placed<T> {}

impl<T: std::fmt::Debug + 'static> Placed<T> {
    pub(crate) fn new(value: T) -> Placed<T> {
        Placed::over(Box::new(value))
    }
}

impl<T: std::fmt::Debug + 'static> Placed<[T]> {
    pub(crate) fn from_vec(values: Vec<T>) -> Placed<[T]> {
        Placed::over(values.into_boxed_slice())
    }
}

impl<T: ?Sized + std::fmt::Debug + 'static> Placed<T> {
    fn over(whole: Box<T>) -> Placed<T> {
        let place = std::ptr::NonNull::from(&*whole);
        let whole: std::sync::Arc<dyn Keep> = std::sync::Arc::new(whole);
        Placed { place, _whole: Arc::from_std(whole) }
    }
}

impl<T: ?Sized> Placed<T> {
    pub(crate) fn part<U: ?Sized>(&self, choose: impl FnOnce(&T) -> &U) -> Placed<U> {
        Placed { place: std::ptr::NonNull::from(choose(self)), _whole: self._whole.clone() }
    }
}

impl<T: ?Sized> Clone for Placed<T> {
    fn clone(&self) -> Placed<T> {
        Placed { place: self.place, _whole: self._whole.clone() }
    }
}

impl<T: ?Sized> std::ops::Deref for Placed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `_whole` keeps what it points into, which never moves.
        unsafe { self.place.as_ref() }
    }
}

/// Loom knows no membarrier: the light side of the model pays like the heavy one.
pub(crate) fn compiler_fence(order: Ordering) {
    loom::sync::atomic::fence(order);
}

pub(crate) fn fence_seq_cst() {
    loom::sync::atomic::fence(Ordering::SeqCst);
}

pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, _timeout: Option<Duration>) -> io::Result<Slept> {
    let queue = word.queue.lock().expect("no holder panics");
    if word.word.load(Ordering::Relaxed) != expected {
        return Ok(Slept::Changed);
    }
    drop(word.woken.wait(queue).expect("no holder panics"));
    Ok(Slept::Woken)
}

pub(crate) fn futex_wake(word: &AtomicU32, _count: u32) -> io::Result<usize> {
    let _queue = word.queue.lock().expect("no holder panics");
    word.woken.notify_one();
    Ok(1)
}

/// A full fence on both sides. Loom knows no membarrier; that its two sides are as good is the kernel's promise, which
/// the tests of `headwater_os::fence` try.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fence;

impl Fence {
    pub(crate) fn join(self) -> io::Result<()> {
        Ok(())
    }

    /// As the real one where membarrier is there, so that the model has biases.
    pub(crate) fn is_asymmetric(self) -> bool {
        true
    }

    pub(crate) fn light(self) {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    pub(crate) fn heavy(self) -> io::Result<()> {
        loom::sync::atomic::fence(Ordering::SeqCst);
        Ok(())
    }
}

/// Time stands still and nobody moves: what depends on either is outside the model.
pub(crate) fn now_ns() -> u64 {
    0
}

pub(crate) fn current_cpu() -> u32 {
    0
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessId;

impl ProcessId {
    pub(crate) fn own() -> ProcessId {
        ProcessId
    }

    pub(crate) fn from_word(_word: u64) -> ProcessId {
        ProcessId
    }

    pub(crate) fn word(self) -> u64 {
        1
    }

    pub(crate) fn pid(self) -> u32 {
        std::process::id()
    }

    pub(crate) fn is_stopped(self) -> bool {
        false
    }
}

/// Every process of the model lives on.
#[derive(Debug)]
pub(crate) struct Watch;

impl Watch {
    pub(crate) fn begin(_id: ProcessId) -> io::Result<Watch> {
        Ok(Watch)
    }

    pub(crate) fn has_ended(&self) -> io::Result<bool> {
        Ok(false)
    }
}

/// A region on the heap, of any power of two.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    words: Arc<Words>,
    bytes: Arc<Vec<UnsafeCell<u8>>>,
}

impl Region {
    pub(crate) fn create(window_bytes: usize) -> io::Result<Region> {
        assert!(window_bytes.is_power_of_two());
        let end = || Apart(End { status: AtomicU32::new(0), cpu: AtomicU32::new(0), owner: AtomicU64::new(0) });
        let index = || Apart(AtomicU64::new(0));
        let words = Words { tail: index(), head: index(), sender: end(), receiver: end() };
        Ok(Region { words: Arc::new(words), bytes: Arc::new((0..window_bytes).map(|_| UnsafeCell::new(0)).collect()) })
    }

    pub(crate) fn populate(&self) -> Result<(), Error> {
        Ok(())
    }

    pub(crate) fn words(&self) -> &Words {
        &self.words
    }

    pub(crate) fn window(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) fn fence(&self) -> Fence {
        Fence
    }

    pub(crate) fn copy_in(&self, at: u64, source: &[u8]) {
        for (at, byte) in (at..).zip(source) {
            // SAFETY: the pointer is of a live cell; loom itself reports any concurrent access.
            self.cell(at).with_mut(|cell| unsafe { *cell = *byte });
        }
    }

    pub(crate) fn copy_out(&self, at: u64, target: &mut [u8]) {
        for (at, byte) in (at..).zip(target) {
            // SAFETY: as in `copy_in`.
            self.cell(at).with(|cell| *byte = unsafe { *cell });
        }
    }

    fn cell(&self, at: u64) -> &UnsafeCell<u8> {
        &self.bytes[(at % self.window()) as usize]
    }
}
