//! The loom model of `sync`: the same names, over loom's atomics, heap memory and a modelled futex.
//!
//! Compiled only under `--cfg loom`. Loom's atomics are larger than real ones, so the words are in a box instead of a mapping. Every
//! byte of a window is a cell that loom checks for races. The modelled futex has no time limit: a lost wake-up is a deadlock, which
//! loom reports. The public items are for models in other crates.

use std::io;
use std::time::Duration;

use headwater_os::futex::Slept;
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};

pub(crate) use loom::hint::spin_loop;
pub use loom::sync::atomic::{AtomicU8, Ordering, fence};
pub(crate) use loom::thread::yield_now;

use crate::biased_lock::BiasedLockWords;
use crate::members::Members;

/// Makes a table of members with free slots.
pub fn members(slots: usize) -> Members {
    Members::model(slots)
}

/// Makes a free lock.
pub fn lock() -> BiasedLockWords {
    crate::biased_lock::model_words()
}

/// Makes all accesses to a word depend on each other, so that loom tries them in every order.
///
/// Loom 0.7 remembers only the last access to a word. If a thread loads a word and then stores to it, loom forgets an earlier load by
/// another thread, and does not try the store before that load. A relaxed exchange with each access makes loom try it. The
/// exchange orders nothing else.
#[derive(Debug)]
struct Dependence(AtomicU8);

impl Dependence {
    fn new() -> Dependence {
        Dependence(AtomicU8::new(0))
    }

    fn note(&self) {
        self.0.swap(0, Ordering::Relaxed);
    }
}

/// Declares an atomic on which a thread can sleep: a word together with the queue of its futex.
macro_rules! atomic {
    ($name:ident, $real:ident, $word:ty) => {
        /// An atomic on which a thread can sleep.
        #[derive(Debug)]
        pub struct $name {
            word: loom::sync::atomic::$real,
            dependence: Dependence,
            queue: Mutex<()>,
            woken: Condvar,
        }

        impl $name {
            /// Makes a word with this value.
            pub fn new(value: $word) -> $name {
                $name {
                    word: loom::sync::atomic::$real::new(value),
                    dependence: Dependence::new(),
                    queue: Mutex::new(()),
                    woken: Condvar::new(),
                }
            }

            /// Like the real one.
            pub fn load(&self, order: Ordering) -> $word {
                self.dependence.note();
                self.word.load(order)
            }

            /// Like the real one.
            pub fn store(&self, value: $word, order: Ordering) {
                self.dependence.note();
                self.word.store(value, order);
            }

            /// Like the real one.
            pub fn swap(&self, value: $word, order: Ordering) -> $word {
                self.dependence.note();
                self.word.swap(value, order)
            }

            /// Like the real one.
            pub fn fetch_or(&self, bits: $word, order: Ordering) -> $word {
                self.dependence.note();
                self.word.fetch_or(bits, order)
            }

            /// Like the real one.
            pub fn fetch_and(&self, bits: $word, order: Ordering) -> $word {
                self.dependence.note();
                self.word.fetch_and(bits, order)
            }

            /// Like the real one.
            pub fn fetch_add(&self, count: $word, order: Ordering) -> $word {
                self.dependence.note();
                self.word.fetch_add(count, order)
            }

            /// Like the real one.
            pub fn fetch_sub(&self, count: $word, order: Ordering) -> $word {
                self.dependence.note();
                self.word.fetch_sub(count, order)
            }

            /// Like the real one.
            pub fn fetch_update(
                &self,
                hit: Ordering,
                miss: Ordering,
                change: impl FnMut($word) -> Option<$word>,
            ) -> Result<$word, $word> {
                self.dependence.note();
                self.word.fetch_update(hit, miss, change)
            }

            /// Like the real one.
            pub fn compare_exchange(
                &self,
                from: $word,
                to: $word,
                hit: Ordering,
                miss: Ordering,
            ) -> Result<$word, $word> {
                self.dependence.note();
                self.word.compare_exchange(from, to, hit, miss)
            }

            /// Sleeps while `bits` of the word are equal to those of `expected`.
            fn sleep_while(&self, expected: $word, bits: $word) -> Slept {
                let queue = self.queue.lock().expect("no holder panics");
                if self.word.load(Ordering::Relaxed) & bits != expected & bits {
                    return Slept::Changed;
                }
                drop(self.woken.wait(queue).expect("no holder panics"));
                Slept::Woken
            }

            fn wake(&self) {
                let _queue = self.queue.lock().expect("no holder panics");
                self.woken.notify_one();
            }
        }
    };
}

atomic!(AtomicU32, AtomicU32, u32);
atomic!(AtomicU64, AtomicU64, u64);

/// A value that the threads of the model share.
#[derive(Debug)]
pub struct Placed<T: ?Sized> {
    place: std::ptr::NonNull<T>,
    /// Keeps the value that `place` points into.
    _whole: Arc<dyn Keep>,
}

/// A value that is kept, but not used through this type.
trait Keep: std::fmt::Debug {}
impl<T: ?Sized + std::fmt::Debug> Keep for Box<T> {}

// SAFETY: only shared references to the value are returned, which exists as long as this one. Loom checks the accesses.
unsafe impl<T: ?Sized + Sync> Send for Placed<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for Placed<T> {}

impl<T: std::fmt::Debug + 'static> Placed<T> {
    /// Puts the value on the heap.
    pub fn new(value: T) -> Placed<T> {
        Placed::over(Box::new(value))
    }
}

impl<T: std::fmt::Debug + 'static> Placed<[T]> {
    /// Puts the values on the heap.
    pub fn from_vec(values: Vec<T>) -> Placed<[T]> {
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
    /// Returns a part of the value, which keeps the whole.
    pub fn part<U: ?Sized>(&self, choose: impl FnOnce(&T) -> &U) -> Placed<U> {
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
        // SAFETY: `_whole` keeps the value that it points into, which never moves.
        unsafe { self.place.as_ref() }
    }
}

/// A full fence. Loom has no membarrier, so the light side of the model has the same fence as the heavy side.
pub fn compiler_fence(order: Ordering) {
    fence(order);
}

/// Like the real one.
pub fn futex_wait(word: &AtomicU32, expected: u32, _timeout: Option<Duration>) -> io::Result<Slept> {
    Ok(word.sleep_while(expected, u32::MAX))
}

/// Like the real one.
pub fn futex_wake(word: &AtomicU32, _count: u32) -> io::Result<usize> {
    word.wake();
    Ok(1)
}

/// Like the real one.
pub(crate) fn futex_wait_low(word: &AtomicU64, expected: u64, _timeout: Option<Duration>) -> io::Result<Slept> {
    Ok(word.sleep_while(expected, u64::from(u32::MAX)))
}

/// Like the real one.
pub(crate) fn futex_wake_low(word: &AtomicU64, _count: u32) -> io::Result<usize> {
    word.wake();
    Ok(1)
}

/// A full fence on both sides. Loom has no membarrier. The kernel promises that the two sides are equivalent to this, which the
/// tests of `headwater_os::fence` check.
#[derive(Debug, Clone, Copy)]
pub struct Fence;

impl Fence {
    /// Like the real one.
    pub fn join(self) -> io::Result<()> {
        Ok(())
    }

    /// Returns true, as where membarrier is available, so that the model has biases.
    pub fn is_asymmetric(self) -> bool {
        true
    }

    /// The frequent side.
    pub fn light(self) {
        fence(Ordering::SeqCst);
    }

    /// The side that is about to sleep.
    pub fn heavy(self) -> io::Result<()> {
        fence(Ordering::SeqCst);
        Ok(())
    }
}

/// Returns 0: the model covers nothing that depends on the time.
pub fn now_ns() -> u64 {
    0
}

/// Returns 0: the model covers nothing that depends on the CPU.
pub fn current_cpu() -> u32 {
    0
}

pub(crate) fn epoch() -> u64 {
    1
}

pub(crate) fn nap(_duration: Duration) -> io::Result<Slept> {
    yield_now();
    Ok(Slept::TimedOut)
}

/// The identity of a process of the model. It never ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessId(u64);

impl ProcessId {
    /// Like the real one.
    pub fn own() -> ProcessId {
        ProcessId(1)
    }

    /// Like the real one.
    pub fn from_words(place: u64, _birth: u64, _image: u64) -> ProcessId {
        ProcessId(place)
    }

    /// Like the real one.
    pub fn place(self) -> u64 {
        self.0
    }

    /// Like the real one.
    pub fn birth(self) -> u64 {
        1
    }

    /// Like the real one.
    pub fn image(self) -> u64 {
        1
    }

    /// Like the real one.
    pub fn pid(self) -> u32 {
        std::process::id()
    }

    /// Like the real one.
    pub fn has_ended(self) -> bool {
        false
    }
}

/// A window whose bytes are cells on the heap.
#[derive(Debug, Clone)]
pub struct Window {
    len: u64,
    cells: Arc<Vec<UnsafeCell<u8>>>,
}

impl Window {
    /// Makes a window with a nominal length of `len` bytes, of which at most `cells` are in use at the same time: loom could not
    /// check as many cells as a real window has bytes. Both numbers are powers of two.
    pub fn new(len: u64, cells: usize) -> Window {
        assert!(len.is_power_of_two() && cells.is_power_of_two());
        Window { len, cells: Arc::new((0..cells).map(|_| UnsafeCell::new(0)).collect()) }
    }

    /// Returns the nominal length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a window is never empty")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Copies `source` into the window, beginning at position `at`.
    pub fn copy_in(&self, at: u64, source: &[u8]) {
        for (at, byte) in (at..).zip(source) {
            // SAFETY: the pointer leads to an existing cell, and loom reports any concurrent access.
            self.cell(at).with_mut(|cell| unsafe { *cell = *byte });
        }
    }

    /// Copies bytes out of the window, beginning at position `at`.
    pub fn copy_out(&self, at: u64, target: &mut [u8]) {
        for (at, byte) in (at..).zip(target) {
            // SAFETY: as in `copy_in`.
            self.cell(at).with(|cell| *byte = unsafe { *cell });
        }
    }

    fn cell(&self, at: u64) -> &UnsafeCell<u8> {
        &self.cells[at as usize % self.cells.len()]
    }
}
