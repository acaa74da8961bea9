//! Telling a forked child from its parent by one load: a word in a page that the kernel wipes in every child.
//!
//! A value that a process caches about memory that it shares (its identity, a lock that it holds) is copied by fork and
//! is then valid in the parent alone. Code that caches such a value keeps the [`epoch`] beside it and compares.
//!
//! Where the kernel refuses to wipe the page (before Linux 4.14, or a system call filter), a handler of fork(3) wipes it; a
//! child of a bare clone(2) is then detected by [`epoch`] alone.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::clock::now_ns;
use crate::thread::HeldSignals;

/// The word; 0 in a child that has not called [`epoch`] yet, or before the first call.
#[derive(Debug, Clone, Copy)]
pub struct Epoch(&'static AtomicU64);

impl Epoch {
    /// Whether the process is still the one in which [`epoch`] returned `seen`.
    #[inline(always)]
    pub fn is(self, seen: u64) -> bool {
        self.0.load(Ordering::Relaxed) == seen
    }
}

/// The word; null before the first call. No lock guards it: in a process that is forked while a thread maps the word,
/// that thread is missing and the lock would never be released.
static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
/// The process that has the word, where the kernel does not wipe it; else 0.
static UNWIPED: AtomicU32 = AtomicU32::new(0);

/// The word that changes with every fork; mapped at the first call.
#[inline]
pub fn word() -> Epoch {
    let there = WORD.load(Ordering::Acquire);
    let word = if there.is_null() { publish(map()) } else { there };
    // SAFETY: a word that was published is never unmapped.
    Epoch(unsafe { &*word })
}

/// This process's number: never 0, constant during its life, different in every child and after exec.
#[inline]
pub fn epoch() -> u64 {
    let word = word().0;
    let process = UNWIPED.load(Ordering::Relaxed);
    if process != 0 && process != std::process::id() {
        // Only one thread can get here: a child has one, until it starts others.
        UNWIPED.store(std::process::id(), Ordering::Relaxed);
        word.store(0, Ordering::Relaxed);
    }
    match word.load(Ordering::Relaxed) {
        0 => {
            // Relaxed: a number, nothing is published with it. Two threads agree by the exchange.
            let fresh = now_ns() << 22 | u64::from(std::process::id());
            word.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed).map_or_else(|set| set, |_| fresh)
        }
        set => set,
    }
}

/// Has `reset` called in every child of fork(3) from now on, by the one thread that it has. `reset` does what a signal
/// handler may. Children of a bare clone(2) are not told.
///
/// # Errors
/// `OutOfMemory`.
pub fn in_children(reset: extern "C" fn()) -> std::io::Result<()> {
    // SAFETY: `reset` takes nothing, and code of a program is never unloaded before its handlers are.
    match unsafe {
        libc::pthread_atfork(None, None, Some(std::mem::transmute::<extern "C" fn(), unsafe extern "C" fn()>(reset)))
    } {
        0 => Ok(()),
        code => Err(std::io::Error::from_raw_os_error(code)),
    }
}

/// The low half counts the threads in [`held_off`], the high half those in fork(3).
static TURN: AtomicU64 = AtomicU64::new(0);
const FORKING: u64 = 1 << 32;
thread_local! {
    /// This thread is in [`held_off`].
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Set when this thread may enter [`held_off`] during a fork; see [`may_be_lent`].
    static LENT: Cell<*const AtomicBool> = const { Cell::new(ptr::null()) };
}

/// Whether the calling thread is in [`held_off`].
pub(crate) fn is_held_off() -> bool {
    INSIDE.get()
}

/// Calls `action`, in which this thread enters [`held_off`] even during a fork once `lent` is set. A thread sets it that is in
/// [`held_off`] itself, and that stays there until `action` has ended: the fork waits for it, and so for this thread too.
pub(crate) fn may_be_lent<T>(lent: &AtomicBool, action: impl FnOnce() -> T) -> T {
    LENT.set(lent);
    let done = action();
    LENT.set(ptr::null());
    done
}
/// How long a waiter sleeps: a thread of a higher priority that only yielded would keep the others from running.
const LOOK_EVERY: Duration = Duration::from_micros(20);

/// Runs `action` while no thread of this process is in fork(3): no child gets descriptors that are opened and closed in
/// it. A child of a bare clone(2) does. `action` waits for nothing for long, because a fork
/// waits for it, and for no thread that may call this function, but by the drop of a `Background`; signals are handled after it, so
/// that no handler forks in it. It may be called in itself.
pub fn held_off<T>(action: impl FnOnce() -> T) -> T {
    let _inside = (!INSIDE.get()).then(Inside::enter);
    action()
}

/// That the thread is in [`held_off`], until it is dropped; also by a panic.
struct Inside {
    // Handled again after the thread has left.
    _signals: HeldSignals,
}

impl Inside {
    #[inline(never)]
    fn enter() -> Inside {
        static HANDLERS: AtomicU32 = AtomicU32::new(0);
        // Two threads that get here first both install them, which does no harm but is not repeated.
        if HANDLERS.load(Ordering::Relaxed) == 0 {
            // SAFETY: the handlers take nothing, and do what a signal handler may.
            let installed = unsafe { libc::pthread_atfork(Some(begin_fork), Some(end_fork), Some(begin_child)) };
            HANDLERS.store(u32::from(installed == 0), Ordering::Relaxed);
        }
        let signals = HeldSignals::now();
        // Acquire here and Release at the end: the action stays between the two.
        // SAFETY: null, or what `may_be_lent` has stored and takes back.
        let is_lent = || unsafe { LENT.get().as_ref() }.is_some_and(|lent| lent.load(Ordering::Acquire));
        while TURN
            .fetch_update(Ordering::Acquire, Ordering::Acquire, |turn| {
                (turn < FORKING || is_lent()).then_some(turn + 1)
            })
            .is_err()
        {
            if FORKER.load(Ordering::Relaxed) != epoch() {
                // A child, whose other handlers run before ours.
                forget_fork();
                continue;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        INSIDE.set(true);
        Inside { _signals: signals }
    }
}

impl Drop for Inside {
    #[inline(never)]
    fn drop(&mut self) {
        INSIDE.set(false);
        TURN.fetch_sub(1, Ordering::Release);
    }
}

/// The process, by its epoch, that is in fork(3) or was last. Written before [`TURN`] says that one is.
static FORKER: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" fn begin_fork() {
    FORKER.store(epoch(), Ordering::Relaxed);
    // Release: after the epoch.
    TURN.fetch_add(FORKING, Ordering::AcqRel);
    while !TURN.load(Ordering::Acquire).is_multiple_of(FORKING) {
        std::thread::sleep(LOOK_EVERY);
    }
}

unsafe extern "C" fn end_fork() {
    // A handler that was installed in the middle of a fork may not have run at its beginning.
    let _ = TURN.fetch_update(Ordering::Release, Ordering::Relaxed, |turn| turn.checked_sub(FORKING));
}

unsafe extern "C" fn begin_child() {
    forget_fork();
}

/// The child begins with its one thread, and no fork.
fn forget_fork() {
    // Not twice: another handler of the child may have called the library, and begun threads.
    let _ = TURN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |turn| (turn >= FORKING).then_some(0));
}

/// Does in a child what the kernel would do.
extern "C" fn wipe() {
    // SAFETY: as in `word`.
    if let Some(word) = unsafe { WORD.load(Ordering::Relaxed).as_ref() } {
        word.store(0, Ordering::Relaxed);
    }
}

/// Makes a new word the one of this process, unless another thread was faster: then returns that thread's word.
fn publish(new: *mut AtomicU64) -> *mut AtomicU64 {
    match WORD.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => new,
        Err(there) => {
            if new != UNMAPPED.as_ptr().cast() {
                // SAFETY: `map` has just mapped it, and it was not published.
                let _ = unsafe { munmap(new.cast(), size_of::<AtomicU64>()) };
            }
            there
        }
    }
}

/// The word of a process that gets no page for it: its limits allow no more memory (RLIMIT_DATA, RLIMIT_AS).
static UNMAPPED: AtomicU64 = AtomicU64::new(0);

fn map() -> *mut AtomicU64 {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh anonymous mapping aliases nothing, is zeroed and aligned to a page.
    let page = unsafe { mmap_anonymous(ptr::null_mut(), size_of::<AtomicU64>(), access, MapFlags::PRIVATE) };
    // Miri knows neither this advice nor handlers of fork(3), and forks nothing.
    // SAFETY: the advice concerns the page that was just mapped, alone.
    let is_wiped = |page| cfg!(miri) || unsafe { madvise(page, 4096, Advice::LinuxWipeOnFork).is_ok() };
    if !page.is_ok_and(is_wiped) {
        UNWIPED.store(std::process::id(), Ordering::Relaxed);
        // Without the handler a child is detected by its process id.
        let _ = in_children(wipe);
    }
    page.map_or(UNMAPPED.as_ptr().cast(), |page| page.cast())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;
    use crate::child::Child;
    use crate::own_process::run_in_own_process;
    use crate::refuse::{Refusal, refuse};

    #[test]
    fn a_child_has_an_epoch_of_its_own() {
        let Some(_alone) = run_in_own_process() else { return };
        let here = epoch();
        assert!(here != 0 && here == epoch() && word().is(here));
        // The body allocates nothing and takes no lock, so other threads of the test do not matter.
        let mut child = Child::fork(|| i32::from(word().is(here) || epoch() == here)).expect("fork");
        assert!(child.wait().expect("wait").success());
        assert!(word().is(here));
    }
    /// Not a test of its own: what [`a_child_is_known_where_the_kernel_wipes_no_page`] starts, in a program that has no
    /// page yet.
    #[test]
    fn without_wiping() {
        if std::env::var_os("HEADWATER_NO_WIPE").is_none() {
            return;
        }
        let wipe = Refusal { call: libc::SYS_madvise, argument: Some((2, 18)), errno: libc::EINVAL };
        refuse(&[wipe]).expect("seccomp");
        let here = epoch();
        assert_eq!(UNWIPED.load(Ordering::Relaxed), std::process::id());
        assert!(here == epoch() && word().is(here));
        let known = || {
            assert!(!word().is(here), "seen by one load");
            let child = epoch();
            let grandchild = || i32::from(word().is(child) || word().is(here) || epoch() == child);
            let mut grandchild = Child::fork(grandchild).expect("fork");
            i32::from(child == here || !word().is(child) || !grandchild.wait().expect("wait").success())
        };
        let mut child = Child::fork(known).expect("fork");
        assert!(child.wait().expect("wait").success());
        assert!(word().is(here));
        println!("a child was known");
    }

    #[test]
    fn a_fork_waits_for_no_action_that_has_panicked() {
        let Some(_alone) = run_in_own_process() else { return };
        let panicked = std::panic::catch_unwind(|| held_off(|| panic!("as asked")));
        assert!(panicked.is_err() && !is_held_off());
        let mut child = Child::fork(|| 0).expect("fork");
        assert!(child.wait().expect("wait").success());
    }

    #[test]
    fn a_child_has_nothing_of_what_is_open_for_a_moment() {
        let Some(_alone) = run_in_own_process() else { return };
        let (source, sink) = crate::files::shared_pipe().expect("pipe");
        let source = std::sync::Arc::new(source);
        drop(sink);
        let is_over = std::sync::Arc::new(AtomicBool::new(false));
        let opener = std::thread::spawn({
            let (source, is_over) = (source.clone(), is_over.clone());
            move || {
                while !is_over.load(Ordering::Relaxed) {
                    let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
                    let own = crate::descriptors::Found::own(source.as_fd());
                    held_off(|| own.open(flags).map(drop)).expect("open");
                }
            }
        });
        let mut children = Vec::new();
        let until = now_ns() + 400_000_000;
        while now_ns() < until {
            let mut child = Child::fork(|| {
                let mut polled = [PollFd::new(&*source, PollFlags::empty())];
                // The parent opens it again and again, and this process sees a moment without it unless it has it itself.
                let until = now_ns() + 5_000_000_000;
                while now_ns() < until {
                    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
                    if poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().contains(PollFlags::HUP) {
                        return 0;
                    }
                }
                1
            })
            .expect("fork");
            children.push(child.wait().expect("wait").success());
        }
        is_over.store(true, Ordering::Relaxed);
        opener.join().expect("no panic");
        assert!(children.iter().all(|told| *told), "{} have a copy", children.iter().filter(|told| !**told).count());
    }

    #[test]
    fn a_child_is_known_where_the_kernel_wipes_no_page() {
        let mut program = std::process::Command::new(std::env::current_exe().expect("our own path"));
        program.args(["--exact", "fork::tests::without_wiping", "--nocapture"]).env("HEADWATER_NO_WIPE", "1");
        let done = program.output().expect("it starts");
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("a child was known"), "{said}");
    }
}
