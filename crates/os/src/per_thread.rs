//! A value for each thread that uses something, found without a lock: two loads and two stores of a cache line that
//! only the thread uses.
//!
//! A thread's first call makes its value, in memory from the kernel, so that the call may be in a signal handler; the
//! value of a thread that has ended is reused for the next new thread. A signal handler that interrupts its thread in
//! the middle of a call gets a second value of that thread, marked as nested. A forked child has copies: the thread
//! that called fork(2) continues with its own; those of other threads are left alone, because their threads may have
//! been in the middle of a call.

use std::alloc::{Layout, handle_alloc_error};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering, compiler_fence, fence};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::fork;

/// The number of threads that find their value at once, if their numbers differ in the last bits. Other threads walk
/// the list.
const RECENT: usize = 8;

/// In `Slot::owner`: the slot is being taken over.
const NOBODY: u64 = 0;

/// Values of type `T`, each used by one thread at a time.
pub struct PerThread<T> {
    /// The slots that were used last, by the last bits of the thread's number.
    recent: [AtomicPtr<Slot<T>>; RECENT],
    /// All slots, the newest first. A slot stays in the list until the list is dropped.
    first: AtomicPtr<Slot<T>>,
    owns: PhantomData<Slot<T>>,
}

struct Slot<T> {
    /// The number of the thread that the slot belongs to. Written by the thread that takes over the slot of a thread
    /// that has ended.
    owner: AtomicU64,
    /// The kernel's id of that thread, and the process (by its epoch) in which it is valid.
    tid: AtomicI32,
    epoch: AtomicU64,
    /// The owner is in the middle of a call. Written by the owner alone.
    busy: AtomicBool,
    value: UnsafeCell<ManuallyDrop<T>>,
    /// Written before the slot is in the list.
    next: *mut Slot<T>,
}

// SAFETY: a value is used by the thread that owns its slot, and goes to another thread only after that one has ended; so
// it is sent between threads and never shared. The other fields are atomics, or constant once they can be seen.
unsafe impl<T: Send> Sync for PerThread<T> {}
// SAFETY: as above; nothing in it is bound to the thread that made it.
unsafe impl<T: Send> Send for PerThread<T> {}

/// A thread's value, for the length of a call. It stays with the thread.
pub struct Held<'a, T> {
    slot: &'a Slot<T>,
    nested: bool,
    stays: PhantomData<*mut T>,
}

/// Where a thread's value is: to be found again by one load, and without [`PerThread::get`].
pub struct Place<T>(NonNull<Slot<T>>);

impl<T> Clone for Place<T> {
    fn clone(&self) -> Place<T> {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T> Place<T> {
    /// The value. None if the thread is in the middle of a call that uses it.
    ///
    /// # Safety
    /// The place is from [`PerThread::place`] of a value that still exists, and the calling thread is the one that asked for it, or
    /// that thread in a forked child.
    #[inline(always)]
    pub unsafe fn hold<'a>(self) -> Option<Held<'a, T>> {
        // SAFETY: the caller's promise: slots live as long as their list.
        let slot = unsafe { self.0.as_ref() };
        // As in `get`: while its thread lives a slot has one owner.
        if slot.busy.load(Ordering::Relaxed) { None } else { Some(Held::of(slot, false)) }
    }
}

impl<T> std::fmt::Debug for Place<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Place").field(&self.0).finish()
    }
}

impl<T> Default for PerThread<T> {
    fn default() -> PerThread<T> {
        static IS_ASKED: AtomicBool = AtomicBool::new(false);
        if !IS_ASKED.swap(true, Ordering::Relaxed) && fork::in_children(note_forking_thread).is_err() {
            IS_ASKED.store(false, Ordering::Relaxed);
        }
        PerThread {
            recent: [const { AtomicPtr::new(ptr::null_mut()) }; RECENT],
            first: AtomicPtr::new(ptr::null_mut()),
            owns: PhantomData,
        }
    }
}

impl<T> PerThread<T> {
    /// The calling thread's value. The thread's first call makes it.
    #[inline(always)]
    pub fn get(&self, make: impl Fn() -> T) -> Held<'_, T> {
        let me = number();
        // Acquire pairs with the Release in `find`: the slot was filled in before its address was stored.
        let recent = self.recent[me as usize % RECENT].load(Ordering::Acquire);
        // SAFETY: the address of a slot of this list, which is freed when the list is dropped.
        if let Some(slot) = unsafe { recent.as_ref() } {
            // Relaxed: only this thread stores its own number, and only this thread sets or clears `busy` while it is there.
            if slot.owner.load(Ordering::Relaxed) == me && !slot.busy.load(Ordering::Relaxed) {
                return Held::of(slot, false);
            }
        }
        self.find(me, &make)
    }

    /// Where the calling thread's value is, which its first call makes. None if the thread is in the middle of a call.
    pub fn place(&self, make: impl Fn() -> T) -> Option<Place<T>> {
        let held = self.get(make);
        (!held.nested).then(|| Place(NonNull::from(held.slot)))
    }

    #[cold]
    #[inline(never)]
    fn find(&self, me: u64, make: &dyn Fn() -> T) -> Held<'_, T> {
        let own = || self.slots().filter(|slot| slot.owner.load(Ordering::Relaxed) == me);
        let is_busy = |slot: &&Slot<T>| slot.busy.load(Ordering::Relaxed);
        // Of all of them: the one of an earlier nested call is free, and before the busy one in the list.
        let nested = own().any(|slot| is_busy(&slot));
        // The oldest: what a thread uses outside of signal handlers stays the same.
        if let Some(slot) = own().filter(|slot| !is_busy(slot)).last() {
            if !nested {
                self.recent[me as usize % RECENT].store(ptr::from_ref(slot).cast_mut(), Ordering::Release);
            }
            return Held::of(slot, nested);
        }
        let slot = self.slots().find(|slot| slot.take_over(me)).unwrap_or_else(|| self.add(me, make()));
        if !nested {
            self.recent[me as usize % RECENT].store(ptr::from_ref(slot).cast_mut(), Ordering::Release);
        }
        Held::of(slot, nested)
    }

    fn add(&self, me: u64, value: T) -> &Slot<T> {
        let slot = place(Slot {
            owner: AtomicU64::new(me),
            tid: AtomicI32::new(tid()),
            epoch: AtomicU64::new(fork::epoch()),
            busy: AtomicBool::new(false),
            value: UnsafeCell::new(ManuallyDrop::new(value)),
            next: self.first.load(Ordering::Relaxed),
        });
        loop {
            // SAFETY: the slot is not published yet.
            let next = unsafe { (*slot).next };
            // Release publishes the slot to `slots`.
            match self.first.compare_exchange(next, slot, Ordering::Release, Ordering::Relaxed) {
                // SAFETY: as in `get`.
                Ok(_) => return unsafe { &*slot },
                // SAFETY: the slot is not published yet.
                Err(first) => unsafe { (*slot).next = first },
            }
        }
    }

    /// Whether another thread of this process is in the middle of a call. The effects of calls that have ended are
    /// visible.
    pub fn is_used_by_another(&self) -> bool {
        let (me, epoch) = (number(), fork::epoch());
        // The slots that the forking thread has from before are of its parent's epoch.
        let forked = FORKED.load(Ordering::Relaxed);
        self.slots().any(|slot| {
            let owner = slot.owner.load(Ordering::Relaxed);
            // Acquire pairs with the Release in `Held::drop`.
            slot.busy.load(Ordering::Acquire)
                && owner != me
                && (slot.epoch.load(Ordering::Relaxed) == epoch || owner == forked && forked != NOBODY)
        })
    }

    fn slots(&self) -> impl Iterator<Item = &Slot<T>> {
        // Acquire pairs with the Release in `add`.
        let mut next = self.first.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: as in `get`.
            let slot = unsafe { next.as_ref() }?;
            next = slot.next;
            Some(slot)
        })
    }
}

impl<T> Slot<T> {
    /// Takes over the slot of a thread that has ended outside of a call.
    fn take_over(&self, me: u64) -> bool {
        let owner = self.owner.load(Ordering::Acquire);
        // A child knows nothing of its parent's threads; the forking thread is one of them.
        if self.epoch.load(Ordering::Relaxed) != fork::epoch()
            || self.busy.load(Ordering::Relaxed)
            || is_alive(self.tid.load(Ordering::Relaxed))
        {
            return false;
        }
        // Of two threads that come at once one gets it, and no thread relies on the old `tid` while it is replaced. The
        // ended thread's last accesses were before the kernel's answer; the fence keeps our accesses behind that.
        if owner == NOBODY || self.owner.compare_exchange(owner, NOBODY, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return false;
        }
        fence(Ordering::SeqCst);
        self.tid.store(tid(), Ordering::Relaxed);
        // Release pairs with the Acquire above.
        self.owner.store(me, Ordering::Release);
        true
    }
}

/// Puts a slot into memory of its own from the kernel: a signal handler may make one, and may have interrupted the allocator.
fn place<T>(slot: Slot<T>) -> *mut Slot<T> {
    const { assert!(align_of::<Slot<T>>() <= 4096, "a mapping begins at a page") };
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping, wherever the kernel likes.
    let mapped = unsafe { mmap_anonymous(ptr::null_mut(), size_of::<Slot<T>>(), access, MapFlags::PRIVATE) };
    let Ok(mapped) = mapped else { handle_alloc_error(Layout::new::<Slot<T>>()) };
    let place = mapped.cast::<Slot<T>>();
    // SAFETY: as long as a slot, aligned, and not shared.
    unsafe { place.write(slot) };
    place
}

impl<'a, T> Held<'a, T> {
    #[inline]
    fn of(slot: &'a Slot<T>, nested: bool) -> Held<'a, T> {
        slot.busy.store(true, Ordering::Relaxed);
        // Only a signal handler of this thread reads it.
        compiler_fence(Ordering::SeqCst);
        Held { slot, nested, stays: PhantomData }
    }

    /// Whether the thread is in the middle of another call: this one runs in a signal handler, or is nested in that
    /// call.
    pub fn is_nested(&self) -> bool {
        self.nested
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the slot is this thread's, and busy: no other reference into it exists.
        unsafe { &*self.slot.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.slot.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        // Release pairs with the Acquire in `is_used_by_another`.
        self.slot.busy.store(false, Ordering::Release);
    }
}

impl<T> Drop for PerThread<T> {
    fn drop(&mut self) {
        let mut next = *self.first.get_mut();
        while !next.is_null() {
            let place = next;
            // SAFETY: made by `place` in `add`, and in the list once; no other reference exists any more.
            let slot = unsafe { &mut *place };
            next = slot.next;
            if !*slot.busy.get_mut() {
                // SAFETY: dropped here alone. A value that a thread of a parent process was using is left as it is.
                unsafe { ManuallyDrop::drop(slot.value.get_mut()) };
            }
            // SAFETY: mapped by `place` with that length, and used no more.
            let _ = unsafe { munmap(place.cast(), size_of::<Slot<T>>()) };
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Held<'_, T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Held").field("value", &**self).field("nested", &self.nested).finish()
    }
}

impl<T> std::fmt::Debug for PerThread<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PerThread").field("values", &self.slots().count()).finish_non_exhaustive()
    }
}

/// In a forked child: the number of the thread that called fork(2), if it had one. No other thread of the process has it.
static FORKED: AtomicU64 = AtomicU64::new(NOBODY);

extern "C" fn note_forking_thread() {
    FORKED.store(word::get(), Ordering::Relaxed);
}

/// The calling thread's number: no other thread of the process ever has it, and a forked child's thread keeps it.
#[inline]
fn number() -> u64 {
    match word::get() {
        0 => new_number(),
        number => number,
    }
}

#[cold]
fn new_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    word::set(number);
    number
}

crate::thread_word! { mod word = "headwater_os_thread_number_0_1_0" }

fn tid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Whether this process has a thread of that number. A thread that reuses the id of an ended thread is taken for it.
fn is_alive(tid: i32) -> bool {
    // SAFETY: signal 0 is not sent, it only asks; the arguments are numbers.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, 0) == 0 }
}

#[cfg(test)]
mod tests;
