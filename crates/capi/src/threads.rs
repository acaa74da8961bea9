//! Records which thread is in the middle of a call on which stream, so that a close knows when it may free a stream. A
//! record also has what the thread has learned about the program's memory.
//!
//! Each thread has a record, found by one load relative to the thread pointer. A call stores there which stream it
//! uses, by a plain store. A close makes these stores visible by membarrier(2) and reads all records. Records are never
//! freed: a new thread takes the record of a thread that has ended.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence};

use headwater_os::fence::Fence;
use headwater_os::fork;
use headwater_os::per_thread::Place;
use headwater_os::thread::AtEnd;
use headwater_streams::Handle;

use crate::known::{self, Known};
use crate::memory::PAGE;
use crate::table::Open;

/// How deep the calls of a thread can be nested: one call, and those of signal handlers that interrupt each other.
pub const DEPTH: usize = 8;

/// The record of a thread.
#[derive(Debug)]
pub struct Thread {
    /// The streams that the thread's calls use: the outermost call's first, and null after the innermost. Written by
    /// the thread alone.
    used: [AtomicPtr<Open>; DEPTH],
    /// The process (by its epoch) in which the record is valid: a forked child has copies of other threads' records.
    epoch: AtomicU64,
    /// Whether a living thread has the record.
    taken: AtomicBool,
    /// The thread's knowledge about the program. Used by the thread alone.
    pub known: Known,
    next: AtomicPtr<Thread>,
}

// SAFETY: `known` is used only by the thread that has the record; all other fields are atomics.
unsafe impl Sync for Thread {}

/// All records, the newest first.
static FIRST: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());

static AT_END: AtEnd = AtEnd::new(give_back);

#[cfg(target_arch = "x86_64")]
mod own {
    //! The calling thread's record, in memory that the loader reserves for each thread when the program starts. It is
    //! found without a call, unlike a `thread_local!` of a shared library.

    use super::Thread;
    use std::arch::{asm, global_asm};

    global_asm!(
        ".pushsection .tbss.hw_own_thread,\"awT\",@nobits",
        ".balign 8",
        ".hidden hw_own_thread",
        ".globl hw_own_thread",
        ".type hw_own_thread,@object",
        ".size hw_own_thread,8",
        "hw_own_thread:",
        ".zero 8",
        ".popsection",
    );

    #[inline(always)]
    pub fn get() -> *const Thread {
        let thread: *const Thread;
        // SAFETY: the instructions read the thread's own word, whose offset from the thread pointer is constant in a
        // process. The compiler may reuse the value: only `join` and `give_back` change the word, and `join` reads it
        // anew.
        unsafe {
            asm!("mov {0}, qword ptr [rip + hw_own_thread@GOTTPOFF]", "mov {0}, qword ptr fs:[{0}]", out(reg) thread,
                 options(pure, nomem, nostack, preserves_flags));
        }
        thread
    }

    /// Returns the record as `get`, and makes the compiler read it anew.
    pub fn get_again() -> *const Thread {
        let thread: *const Thread;
        // SAFETY: the instructions read the thread's own word, whose offset from the thread pointer is constant in a
        // process.
        unsafe {
            asm!("mov {0}, qword ptr [rip + hw_own_thread@GOTTPOFF]", "mov {0}, qword ptr fs:[{0}]", out(reg) thread,
                 options(nostack, preserves_flags, readonly));
        }
        thread
    }

    pub fn set(thread: *const Thread) {
        // SAFETY: the instructions write the thread's own word, which nothing else uses.
        unsafe {
            asm!("mov {1}, qword ptr [rip + hw_own_thread@GOTTPOFF]", "mov qword ptr fs:[{1}], {0}", in(reg) thread,
                 out(reg) _, options(nostack, preserves_flags));
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod own {
    //! The calling thread's record.

    use super::Thread;
    use std::cell::Cell;

    thread_local!(static OWN: Cell<*const Thread> = const { Cell::new(std::ptr::null()) });

    pub fn get() -> *const Thread {
        OWN.get()
    }

    pub fn get_again() -> *const Thread {
        OWN.get()
    }

    pub fn set(thread: *const Thread) {
        OWN.set(thread);
    }
}

/// Returns the calling thread's record.
#[inline(always)]
pub fn current() -> &'static Thread {
    // SAFETY: the word is null or the address of a record, and records are never freed.
    match unsafe { own::get().as_ref() } {
        Some(thread) => thread,
        None => join(),
    }
}

/// Returns the calling thread's record, if it has one already.
#[inline(always)]
pub fn current_if_known() -> Option<&'static Thread> {
    // SAFETY: the word is null or the address of a record, and records are never freed.
    unsafe { own::get().as_ref() }
}

#[cold]
#[inline(never)]
fn join() -> &'static Thread {
    // SAFETY: the word is null or the address of a record, and records are never freed.
    if let Some(thread) = unsafe { own::get_again().as_ref() } {
        return thread;
    }
    let epoch = fork::epoch();
    let free = all().find(|thread| {
        let known = thread.epoch.load(Ordering::Relaxed);
        // A record of another epoch is a copy of the parent's: its thread does not exist in this forked child.
        thread.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            || known != epoch
                && thread.epoch.compare_exchange(known, epoch, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    });
    let thread = free.unwrap_or_else(|| {
        let fresh = fresh(epoch);
        let mut first = FIRST.load(Ordering::Relaxed);
        loop {
            fresh.next.store(first, Ordering::Relaxed);
            let place = ptr::from_ref(fresh).cast_mut();
            // Release publishes the record. Pairs with the Acquire in `all`.
            match FIRST.compare_exchange(first, place, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break fresh,
                Err(now) => first = now,
            }
        }
    });
    thread.epoch.store(epoch, Ordering::Relaxed);
    thread.known.forget();
    for used in &thread.used {
        used.store(ptr::null_mut(), Ordering::Relaxed);
    }
    own::set(thread);
    AT_END.ask();
    thread
}

/// The offset of a record in its page. It differs from the offsets of the words that a call stores in handles and
/// lanes, which begin with a page too: the processor takes a load for one of the same place if both offsets in the page
/// are equal, and waits for the store.
const AT: usize = 0xb00;
const _: () = assert!(AT + size_of::<Thread>() <= PAGE && AT.is_multiple_of(align_of::<Thread>()));

/// Makes a record in memory from the kernel. An allocator is not used, because the call may be in a signal handler.
fn fresh(epoch: u64) -> &'static Thread {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the call makes a new mapping, at an address that the kernel chooses.
    let place = unsafe { libc::mmap(ptr::null_mut(), PAGE, access, kind, -1, 0) };
    if place == libc::MAP_FAILED {
        // The process ends as when its stack cannot grow.
        std::process::abort();
    }
    let place = place.wrapping_byte_add(AT).cast::<Thread>();
    // SAFETY: the mapping is a page, the record lies in it and is aligned, nothing else knows it, and it is never
    // unmapped.
    unsafe {
        place.write(Thread {
            used: [const { AtomicPtr::new(ptr::null_mut()) }; DEPTH],
            epoch: AtomicU64::new(epoch),
            taken: AtomicBool::new(true),
            known: Known::default(),
            next: AtomicPtr::new(ptr::null_mut()),
        });
        &*place
    }
}

extern "C" fn give_back(_: *mut c_void) {
    // SAFETY: the word is null or the address of a record, and records are never freed.
    if let Some(thread) = unsafe { own::get().as_ref() } {
        own::set(ptr::null());
        thread.taken.store(false, Ordering::Release);
    }
}

/// Returns how `enter` and `is_used` are ordered.
#[inline(always)]
pub fn fence() -> Fence {
    // FENCE is 0 before `prepare`, when there is no stream yet.
    if FENCE.load(Ordering::Relaxed) == Fence::Asymmetric as u32 { Fence::Asymmetric } else { Fence::Symmetric }
}

static FENCE: AtomicU32 = AtomicU32::new(0);

/// The process to which the records belong, by its id and by its epoch.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// Returns whether this is the child of a vfork(2) or a posix_spawn(3). Such a child has its own descriptors and its
/// parent's memory, so it must leave the table alone.
pub fn is_in_borrowed_memory() -> bool {
    if PROCESS.load(Ordering::Relaxed) == std::process::id() {
        return false;
    }
    // A child of fork has memory of its own, and may call the library before our fork handler has run in it.
    let is_forked = EPOCH.load(Ordering::Relaxed) != fork::epoch();
    if is_forked {
        after_fork();
    }
    !is_forked
}

/// Prepares what `current` needs; called before the first stream is opened.
pub fn prepare() {
    // Without a key, the records of ended threads are not used again.
    let _ = AT_END.prepare();
    let _ = fork::in_children(after_fork);
    FENCE.store(Fence::best() as u32, Ordering::Relaxed);
    note_process();
}

fn note_process() {
    EPOCH.store(fork::epoch(), Ordering::Relaxed);
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}

/// Makes the forking thread's record valid in the child.
extern "C" fn after_fork() {
    // SAFETY: the word is null or the address of a record, and records are never freed.
    if let Some(thread) = unsafe { own::get().as_ref() } {
        thread.epoch.store(fork::epoch(), Ordering::Relaxed);
    }
    note_process();
    // If the child cannot join, it frees no stream: `is_used` then returns that each stream is used.
    let _ = fence().join();
}

fn all() -> impl Iterator<Item = &'static Thread> {
    // SAFETY: the word is null or the address of a record, and records are never freed. Acquire pairs with the Release
    // in `join`.
    let first = unsafe { FIRST.load(Ordering::Acquire).as_ref() };
    // SAFETY: `next` is null or the address of a record, and records are never freed.
    std::iter::successors(first, |thread| unsafe { thread.next.load(Ordering::Relaxed).as_ref() })
}

impl Thread {
    /// Notes that the calling thread uses the stream in `place`, until the returned value is dropped. Returns `None` if
    /// `place` has no stream (an address of at most `marks`), or if too many calls are nested.
    #[inline(always)]
    pub fn enter(&'static self, place: &AtomicPtr<Open>, marks: usize) -> Option<InUse> {
        // In a signal handler, the slot is the one after those of the calls that the handler has interrupted. A handler
        // that interrupts this call leaves the slots as it has found them.
        let slot = self.used.iter().find(|used| used.load(Ordering::Relaxed).is_null())?;
        loop {
            let open = place.load(Ordering::Acquire);
            if open as usize <= marks {
                return None;
            }
            slot.store(open, Ordering::Relaxed);
            // Pairs with the heavy fence in `is_used`: either `is_used` sees our store, or we see that `place` has
            // changed.
            fence().light();
            if place.load(Ordering::Acquire) == open {
                return Some(InUse { slot, open });
            }
            slot.store(ptr::null_mut(), Ordering::Relaxed);
        }
    }

    /// Notes, as `enter`, that the thread uses a stream, for a short call on a stream whose handle the thread knows.
    /// Returns `None` if the handle may belong to another stream by now, or if the thread is in the middle of another
    /// call.
    #[inline(always)]
    pub fn enter_quickly(&'static self, fd: usize, open: *mut Open) -> Option<(InUse, &'static Known, Place<Handle>)> {
        // This comes before the handle is read: what a signal handler of this thread learns meanwhile has a later
        // count.
        let changes = self.known.changes();
        let handle = self.known.handle(fd, open)?;
        let slot = &self.used[0];
        if !slot.load(Ordering::Relaxed).is_null() {
            return None;
        }
        slot.store(open, Ordering::Relaxed);
        // The order that the light fence gives in `enter`. A handle is known only where that fence is one of the
        // compiler alone.
        compiler_fence(Ordering::SeqCst);
        let using = InUse { slot, open };
        if changes != known::changes() { None } else { Some((using, &self.known, handle)) }
    }

    /// Remembers the handle of a stream that the thread is using.
    #[inline]
    pub fn remember(&'static self, place: &AtomicPtr<Open>, fd: usize, using: &InUse) {
        let is_known = self.known.changes() == known::changes() && self.known.handle(fd, using.open).is_some();
        if !is_known {
            self.learn_handle(place, fd, using);
        }
    }

    #[cold]
    #[inline(never)]
    fn learn_handle(&'static self, place: &AtomicPtr<Open>, fd: usize, using: &InUse) {
        if fence() == Fence::Asymmetric {
            // SAFETY: the stream is not freed while the thread's record has its address.
            let handle = unsafe { (*using.open).stream.place() };
            self.known.remember(fd, using.open, handle, || ptr::eq(place.load(Ordering::Acquire), using.open));
        }
    }
}

/// Marks a stream as used by a call, until it is dropped.
#[derive(Debug)]
pub struct InUse {
    slot: &'static AtomicPtr<Open>,
    pub open: *const Open,
}

impl Drop for InUse {
    #[inline(always)]
    fn drop(&mut self) {
        // Release pairs with the Acquire in `is_used`: the call's accesses come before.
        self.slot.store(ptr::null_mut(), Ordering::Release);
    }
}

/// Returns whether a thread of this process is in the middle of a call on this stream. The first value is about other
/// threads; the second is about a call of the calling thread that a signal handler has interrupted. The caller has
/// taken the stream out of the table before.
pub fn is_used(open: *const Open) -> (bool, bool) {
    if fence().heavy().is_err() {
        return (true, true);
    }
    let epoch = fork::epoch();
    let me = own::get();
    let uses = |thread: &Thread| thread.used.iter().any(|used| ptr::eq(used.load(Ordering::Acquire), open));
    let (mut others, mut own) = (false, false);
    for thread in all() {
        if ptr::eq(thread, me) {
            own |= uses(thread);
        } else if thread.epoch.load(Ordering::Relaxed) == epoch {
            others |= uses(thread);
        }
    }
    (others, own)
}
