//! A value for each thread, found without a lock: by two loads and two stores of a cache line that only the thread uses.
//!
//! The first call of a thread makes its value. The memory comes from the kernel, so the call may be in a signal handler. When a
//! thread has ended, the next new thread reuses its value. A signal handler that interrupts its thread in the middle of a call
//! gets a second value, which is marked as nested. A forked child has copies of all values: the thread that called fork(2)
//! continues with its own. The others stay unused, because their threads may have been in the middle of a call.

use std::alloc::{Layout, handle_alloc_error};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering, compiler_fence, fence};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::fork;

/// The number of threads that find their value at once, if the last bits of their numbers differ. Other threads search the
/// list.
const RECENT: usize = 8;

/// The value of `Slot::owner` while a thread takes over the slot.
const NOBODY: u64 = 0;

/// A set of values of type `T`. Each value is used by one thread at a time.
pub struct PerThread<T> {
    /// The slots that were used last, indexed by the last bits of the thread's number.
    recent: [AtomicPtr<Slot<T>>; RECENT],
    /// The list of all slots, beginning with the newest. A slot stays in the list until the list is dropped.
    first: AtomicPtr<Slot<T>>,
    owns: PhantomData<Slot<T>>,
}

struct Slot<T> {
    /// The number of the thread that owns the slot. A thread that takes over the slot of an ended thread writes it.
    owner: AtomicU64,
    /// The kernel's id of that thread.
    tid: AtomicI32,
    /// The epoch of the process in which `tid` is valid.
    epoch: AtomicU64,
    /// Set while the owner is in the middle of a call. Written only by the owner.
    busy: AtomicBool,
    value: UnsafeCell<ManuallyDrop<T>>,
    /// The next slot of the list. Written before the slot is in the list.
    next: *mut Slot<T>,
}

// SAFETY: only the thread that owns the slot uses the value. Another thread gets it only after that thread has ended, so it is
// sent between threads and never shared. The other fields are atomics, or do not change after they are published.
unsafe impl<T: Send> Sync for PerThread<T> {}
// SAFETY: as above; nothing in it is bound to the thread that made it.
unsafe impl<T: Send> Send for PerThread<T> {}

/// The value of a thread, held for the duration of a call. It cannot be sent to another thread.
pub struct Held<'a, T> {
    slot: &'a Slot<T>,
    nested: bool,
    stays: PhantomData<*mut T>,
}

/// The place of a thread's value. The thread finds the value there by one load, without [`PerThread::get`].
pub struct Place<T>(NonNull<Slot<T>>);

impl<T> Clone for Place<T> {
    fn clone(&self) -> Place<T> {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T> Place<T> {
    /// Returns the value; `None` if the thread is in the middle of a call that uses it.
    ///
    /// # Safety
    /// The [`PerThread`] that returned the place must still exist. The calling thread must be the one that called
    /// [`PerThread::place`], or that thread in a forked child.
    #[inline(always)]
    pub unsafe fn hold<'a>(self) -> Option<Held<'a, T>> {
        // SAFETY: the caller's promise: slots live as long as their list.
        let slot = unsafe { self.0.as_ref() };
        // As in `get`: while its thread lives, a slot has one owner.
        if slot.busy.load(Ordering::Relaxed) { None } else { Some(Held::new(slot, false)) }
    }
}

impl<T> std::fmt::Debug for Place<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Place").field(&self.0).finish()
    }
}

impl<T> Default for PerThread<T> {
    fn default() -> PerThread<T> {
        static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
        if !IS_REGISTERED.swap(true, Ordering::Relaxed) && fork::in_children(note_forking_thread).is_err() {
            IS_REGISTERED.store(false, Ordering::Relaxed);
        }
        PerThread {
            recent: [const { AtomicPtr::new(ptr::null_mut()) }; RECENT],
            first: AtomicPtr::new(ptr::null_mut()),
            owns: PhantomData,
        }
    }
}

impl<T> PerThread<T> {
    /// Returns the value of the calling thread. The thread's first call makes it.
    #[inline(always)]
    pub fn get(&self, make: impl Fn() -> T) -> Held<'_, T> {
        let me = number();
        // Acquire pairs with the Release in `find`: the slot was initialized before its address was stored.
        let recent = self.recent[me as usize % RECENT].load(Ordering::Acquire);
        // SAFETY: null, or the address of a slot of this list, which is freed only when the list is dropped.
        if let Some(slot) = unsafe { recent.as_ref() } {
            // Relaxed: only this thread stores its own number, and only this thread sets or clears `busy` while it is there.
            if slot.owner.load(Ordering::Relaxed) == me && !slot.busy.load(Ordering::Relaxed) {
                return Held::new(slot, false);
            }
        }
        self.find(me, &make)
    }

    /// Returns the place of the calling thread's value. The thread's first call makes the value. Returns `None` if the thread
    /// is in the middle of a call.
    pub fn place(&self, make: impl Fn() -> T) -> Option<Place<T>> {
        let held = self.get(make);
        (!held.nested).then(|| Place(NonNull::from(held.slot)))
    }

    #[cold]
    #[inline(never)]
    fn find(&self, me: u64, make: &dyn Fn() -> T) -> Held<'_, T> {
        let own = || self.slots().filter(|slot| slot.owner.load(Ordering::Relaxed) == me);
        let is_busy = |slot: &&Slot<T>| slot.busy.load(Ordering::Relaxed);
        // Check all slots of the thread: the slot of an earlier nested call is free, and comes before the busy one.
        let nested = own().any(|slot| is_busy(&slot));
        // Take the oldest free slot, so that a thread always uses the same one outside of signal handlers.
        if let Some(slot) = own().filter(|slot| !is_busy(slot)).last() {
            if !nested {
                self.recent[me as usize % RECENT].store(ptr::from_ref(slot).cast_mut(), Ordering::Release);
            }
            return Held::new(slot, nested);
        }
        let slot = self.slots().find(|slot| slot.take_over(me)).unwrap_or_else(|| self.add(me, make()));
        if !nested {
            self.recent[me as usize % RECENT].store(ptr::from_ref(slot).cast_mut(), Ordering::Release);
        }
        Held::new(slot, nested)
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

    /// Returns whether another thread of this process is in the middle of a call. The effects of calls that have ended are
    /// visible.
    pub fn is_used_by_another(&self) -> bool {
        let (me, epoch) = (number(), fork::epoch());
        // In a child, the slots of the thread that called fork still have the epoch of the parent.
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
        // A child must not take over slots of its parent's threads, including those of the thread that called fork.
        if self.epoch.load(Ordering::Relaxed) != fork::epoch()
            || self.busy.load(Ordering::Relaxed)
            || is_alive(self.tid.load(Ordering::Relaxed))
        {
            return false;
        }
        // If two threads try at the same time, one gets the slot, and no thread relies on the old `tid` while it is replaced.
        // The last accesses of the ended thread came before the kernel's answer; the fence keeps our accesses after it.
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

/// Moves a slot into a mapping of its own. A signal handler may call this, and may have interrupted the allocator.
fn place<T>(slot: Slot<T>) -> *mut Slot<T> {
    const { assert!(align_of::<Slot<T>>() <= 4096, "a mapping begins at a page") };
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping, at an address that the kernel chooses.
    let mapped = unsafe { mmap_anonymous(ptr::null_mut(), size_of::<Slot<T>>(), access, MapFlags::PRIVATE) };
    let Ok(mapped) = mapped else { handle_alloc_error(Layout::new::<Slot<T>>()) };
    let place = mapped.cast::<Slot<T>>();
    // SAFETY: the mapping is as long as a slot, aligned, and not shared.
    unsafe { place.write(slot) };
    place
}

impl<'a, T> Held<'a, T> {
    #[inline]
    fn new(slot: &'a Slot<T>, nested: bool) -> Held<'a, T> {
        slot.busy.store(true, Ordering::Relaxed);
        // The fence orders the store for signal handlers of this thread, for which a compiler fence is enough.
        compiler_fence(Ordering::SeqCst);
        Held { slot, nested, stays: PhantomData }
    }

    /// Returns whether the thread is in the middle of another call. Then this call is in a signal handler, or nested in the
    /// other one.
    pub fn is_nested(&self) -> bool {
        self.nested
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread owns the slot, and it is busy, so no other reference to the value exists.
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
            // SAFETY: made by `place` in `add`, and in the list only once. No other reference exists any more.
            let slot = unsafe { &mut *place };
            next = slot.next;
            if !*slot.busy.get_mut() {
                // SAFETY: this is the only place that drops it. A value that a thread of the parent process was using is not
                // dropped.
                unsafe { ManuallyDrop::drop(slot.value.get_mut()) };
            }
            // SAFETY: mapped by `place` with that length, and not used any more.
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

/// In a forked child, the number of the thread that called fork(2), if it had one. No other thread of the child gets it.
static FORKED: AtomicU64 = AtomicU64::new(NOBODY);

extern "C" fn note_forking_thread() {
    FORKED.store(word::get(), Ordering::Relaxed);
}

/// Returns the number of the calling thread. No other thread of the process ever gets it. In a forked child the thread keeps it.
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

/// Returns whether this process has a thread with this id. It may be a new thread that reuses the id of an ended one.
fn is_alive(tid: i32) -> bool {
    // SAFETY: signal 0 is not sent; the arguments are numbers.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, 0) == 0 }
}

#[cfg(test)]
mod tests;
