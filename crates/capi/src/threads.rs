//! Which thread is in the middle of a call on which stream, so that a close knows when it may free one; and what a thread
//! knows of the program's memory.
//!
//! Each thread has a record, found by one load relative to the thread pointer. A call writes there which stream it uses, by a
//! plain store; a close makes these stores visible by membarrier(2) and reads all records. Records are never freed: a new thread
//! takes the record of one that has ended.

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

/// How deep calls of a thread can be nested: a call, and those of signal handlers that interrupt it.
pub const DEPTH: usize = 8;

/// A thread.
#[derive(Debug)]
pub struct Thread {
    /// The streams that its calls use; the outermost call's first, and null behind the innermost. Written by the thread alone.
    used: [AtomicPtr<Open>; DEPTH],
    /// The process (by its epoch) in which the record is valid: a forked child has copies of other threads' records.
    epoch: AtomicU64,
    /// Whether a living thread has the record.
    taken: AtomicBool,
    /// What the thread knows of the program. Used by the thread alone.
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
    //! The calling thread's record in memory that the loader reserves for each thread when the program starts: found without a
    //! call, unlike a `thread_local!` of a shared library.

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

    /// As `get`, without a value that the compiler knows from before.
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

/// The calling thread's record.
#[inline(always)]
pub fn current() -> &'static Thread {
    // SAFETY: the word is null or the address of a record, and records are never freed.
    match unsafe { own::get().as_ref() } {
        Some(thread) => thread,
        None => join(),
    }
}

/// The calling thread's record, if it has one already.
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
        // A forked child does not have the thread of a record of another epoch.
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
            // Release publishes the record to `all`.
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

/// Where in its page a record lies: not where handles and lanes, which begin with a page too, have the words that a call stores. The
/// processor takes a load for one of the same place if the distance from the page's beginning is the same, and waits for the store.
const AT: usize = 0xb00;
const _: () = assert!(AT + size_of::<Thread>() <= PAGE && AT.is_multiple_of(align_of::<Thread>()));

/// A record in memory from the kernel: the call may be in a signal handler.
fn fresh(epoch: u64) -> &'static Thread {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the call makes a new mapping, at an address that the kernel chooses.
    let place = unsafe { libc::mmap(ptr::null_mut(), PAGE, access, kind, -1, 0) };
    if place == libc::MAP_FAILED {
        // As when the stack cannot grow.
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

/// How `enter` and `is_used` are ordered.
#[inline(always)]
pub fn fence() -> Fence {
    // 0, before `prepare`: no stream is there yet.
    if FENCE.load(Ordering::Relaxed) == Fence::Asymmetric as u32 { Fence::Asymmetric } else { Fence::Symmetric }
}

static FENCE: AtomicU32 = AtomicU32::new(0);

/// The process that the records are of, by its id and by its epoch.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// Whether this is the child of a vfork(2) or a posix_spawn(3), which has its own descriptors and its parent's memory: it must leave
/// the table alone.
pub fn is_in_borrowed_memory() -> bool {
    if PROCESS.load(Ordering::Relaxed) == std::process::id() {
        return false;
    }
    // A child of fork has memory of its own, and may call the library before our handler has run in it.
    let is_forked = EPOCH.load(Ordering::Relaxed) != fork::epoch();
    if is_forked {
        after_fork();
    }
    !is_forked
}

/// Prepares what `current` needs, before the first call.
pub fn prepare() {
    // Without a key records of ended threads are not used again.
    let _ = AT_END.prepare();
    let _ = fork::in_children(after_fork);
    FENCE.store(Fence::best() as u32, Ordering::Relaxed);
    note_process();
}

fn note_process() {
    EPOCH.store(fork::epoch(), Ordering::Relaxed);
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}

/// The forking thread's record is valid in the child.
extern "C" fn after_fork() {
    // SAFETY: the word is null or the address of a record, and records are never freed.
    if let Some(thread) = unsafe { own::get().as_ref() } {
        thread.epoch.store(fork::epoch(), Ordering::Relaxed);
    }
    note_process();
    // A child that cannot join frees no stream: `is_used` then says that each is used.
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
    /// Says that the calling thread uses what `place` names, until the returned value is dropped. None if it names nothing else than
    /// `marks`, addresses below which no stream lies; or too many calls are nested.
    #[inline(always)]
    pub fn enter(&'static self, place: &AtomicPtr<Open>, marks: usize) -> Option<InUse> {
        // Behind the calls that this one has interrupted, if it is in a signal handler. A handler that interrupts us leaves the places as it
        // has found them.
        let slot = self.used.iter().find(|used| used.load(Ordering::Relaxed).is_null())?;
        loop {
            let open = place.load(Ordering::Acquire);
            if open as usize <= marks {
                return None;
            }
            slot.store(open, Ordering::Relaxed);
            // Pairs with the heavy one in `is_used`: either that sees our store, or we see that the place has changed.
            fence().light();
            if place.load(Ordering::Acquire) == open {
                return Some(InUse { slot, open });
            }
            slot.store(ptr::null_mut(), Ordering::Relaxed);
        }
    }

    /// As `enter`, for a call that the thread makes quickly, on a stream whose handle it knows. None if the handle may be
    /// another stream's meanwhile, or the thread is in the middle of another call.
    #[inline(always)]
    pub fn enter_quickly(&'static self, fd: usize, open: *mut Open) -> Option<(InUse, &'static Known, Place<Handle>)> {
        // Before the handle: what a signal handler of this thread learns meanwhile is of a later count.
        let changes = self.known.changes();
        let handle = self.known.handle(fd, open)?;
        let slot = &self.used[0];
        if !slot.load(Ordering::Relaxed).is_null() {
            return None;
        }
        slot.store(open, Ordering::Relaxed);
        // As in `enter`. A handle is known only where the fence is the compiler's.
        compiler_fence(Ordering::SeqCst);
        let using = InUse { slot, open };
        if changes != known::changes() { None } else { Some((using, &self.known, handle)) }
    }

    /// Remembers the handle of a stream that the thread is in the middle of using.
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

/// The stream of a call under way.
#[derive(Debug)]
pub struct InUse {
    slot: &'static AtomicPtr<Open>,
    pub open: *const Open,
}

impl Drop for InUse {
    #[inline(always)]
    fn drop(&mut self) {
        // Release: the call's accesses come before.
        self.slot.store(ptr::null_mut(), Ordering::Release);
    }
}

/// Whether a thread of this process is in the middle of a call on this stream; the first field is about other threads, the
/// second about the calling one, whose call a signal handler has interrupted. The stream has been taken out of its place before.
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
