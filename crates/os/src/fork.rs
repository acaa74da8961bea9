//! Detection of forks by one load: a word in a page that the kernel wipes in every child. And actions during which the process
//! does not fork.
//!
//! A process caches values about shared memory, such as its identity or a lock that it holds. Fork copies such a value, but it
//! is valid in the parent only. So code that caches it also stores the [`epoch`], and compares it before each use.
//!
//! Where the kernel refuses to wipe the page (before Linux 4.14, or by a system call filter), a handler of fork(3) wipes it.
//! Then only [`epoch`] detects a child of a bare clone(2).

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::clock::now_ns;
use crate::thread::HeldSignals;

/// The epoch word of this process. It is 0 until this process calls [`epoch`].
#[derive(Debug, Clone, Copy)]
pub struct Epoch(&'static AtomicU64);

impl Epoch {
    /// Returns whether this is still the process in which [`epoch`] returned `seen`.
    #[inline(always)]
    pub fn is(self, seen: u64) -> bool {
        self.0.load(Ordering::Relaxed) == seen
    }
}

/// The address of the epoch word; null before the first call. No lock guards it: a child that is forked while another thread
/// maps the word does not have that thread, and the lock would never be released.
static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
/// The id of the process that has stored the word, if the kernel does not wipe it; otherwise 0.
static UNWIPED: AtomicU32 = AtomicU32::new(0);

/// Returns the word that changes with every fork. The first call maps it.
#[inline]
pub fn word() -> Epoch {
    let there = WORD.load(Ordering::Acquire);
    let word = if there.is_null() { publish(map()) } else { there };
    // SAFETY: a published word is never unmapped.
    Epoch(unsafe { &*word })
}

/// Returns the epoch of this process: a number that is never 0 and never changes, and differs in every child and after exec.
#[inline]
pub fn epoch() -> u64 {
    let word = word().0;
    let process = UNWIPED.load(Ordering::Relaxed);
    if process != 0 && process != std::process::id() {
        // Only one thread can get here: a child has one thread until it starts others.
        UNWIPED.store(std::process::id(), Ordering::Relaxed);
        word.store(0, Ordering::Relaxed);
    }
    match word.load(Ordering::Relaxed) {
        0 => {
            // Relaxed: the number publishes nothing else. The exchange makes two threads agree.
            let fresh = now_ns() << 22 | u64::from(std::process::id());
            word.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed).map_or_else(|set| set, |_| fresh)
        }
        set => set,
    }
}

/// Registers `reset` to be called in every future child of fork(3), by the child's only thread. `reset` may only do what a
/// signal handler may. It is not called in children of a bare clone(2).
///
/// # Errors
/// `OutOfMemory`.
pub fn in_children(reset: extern "C" fn()) -> std::io::Result<()> {
    // SAFETY: `reset` takes no arguments, and the code of a program is not unloaded before its handlers are.
    match unsafe {
        libc::pthread_atfork(None, None, Some(std::mem::transmute::<extern "C" fn(), unsafe extern "C" fn()>(reset)))
    } {
        0 => Ok(()),
        code => Err(std::io::Error::from_raw_os_error(code)),
    }
}

/// The low half is the number of threads in [`held_off`], the high half the number of threads in fork(3).
static TURN: AtomicU64 = AtomicU64::new(0);
const FORKING: u64 = 1 << 32;
thread_local! {
    /// True while this thread is in [`held_off`].
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Refers to a flag that is set if this thread may enter [`held_off`] during a fork; see [`may_be_lent`].
    static LENT: Cell<*const AtomicBool> = const { Cell::new(ptr::null()) };
}

/// Returns whether the calling thread is in [`held_off`].
pub(crate) fn is_held_off() -> bool {
    INSIDE.get()
}

/// Calls `action`. While `lent` is set, this thread may enter [`held_off`] in it even during a fork.
///
/// Only a thread that is in [`held_off`] itself may set `lent`, and it must stay there until `action` has ended. The fork waits
/// for that thread, and so for this one too.
pub(crate) fn may_be_lent<T>(lent: &AtomicBool, action: impl FnOnce() -> T) -> T {
    LENT.set(lent);
    let done = action();
    LENT.set(ptr::null());
    done
}

/// How long a waiting thread sleeps. If a thread of high priority only yielded, other threads could not run.
const LOOK_EVERY: Duration = Duration::from_micros(20);

/// Runs `action` while no thread of this process is in fork(3). So no child inherits descriptors that `action` opens and
/// closes, except a child of a bare clone(2).
///
/// A fork waits for `action`. So `action` must not wait for long, nor for a thread that may call this function, except by
/// dropping a `Background`. Signals are handled after `action`, so that no handler forks during it. Calls may be nested.
pub fn held_off<T>(action: impl FnOnce() -> T) -> T {
    let _inside = (!INSIDE.get()).then(Inside::enter);
    action()
}

/// Marks the thread as being in [`held_off`] until it is dropped. A panic drops it too.
struct Inside {
    // Dropped after the thread has left: then signals are handled again.
    _signals: HeldSignals,
}

impl Inside {
    #[inline(never)]
    fn enter() -> Inside {
        static HANDLERS: AtomicU32 = AtomicU32::new(0);
        // If two threads get here at the same time, both install the handlers. That does no harm.
        if HANDLERS.load(Ordering::Relaxed) == 0 {
            // SAFETY: the handlers take no arguments, and do only what a signal handler may.
            let installed = unsafe { libc::pthread_atfork(Some(begin_fork), Some(end_fork), Some(begin_child)) };
            HANDLERS.store(u32::from(installed == 0), Ordering::Relaxed);
        }
        let signals = HeldSignals::now();
        // The Acquire here and the Release in `drop` keep the action between the two.
        // SAFETY: null, or a reference that `may_be_lent` has stored and removes before it ends.
        let is_lent = || unsafe { LENT.get().as_ref() }.is_some_and(|lent| lent.load(Ordering::Acquire));
        while TURN
            .fetch_update(Ordering::Acquire, Ordering::Acquire, |turn| {
                (turn < FORKING || is_lent()).then_some(turn + 1)
            })
            .is_err()
        {
            if FORKER.load(Ordering::Relaxed) != epoch() {
                // This is a child, and a handler of the program runs before ours.
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

/// The epoch of the process that is in fork(3), or was last. Written before [`TURN`] says that a thread is in fork(3).
static FORKER: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" fn begin_fork() {
    FORKER.store(epoch(), Ordering::Relaxed);
    // Release: stored after the epoch. Pairs with the Acquire in `Inside::enter`.
    TURN.fetch_add(FORKING, Ordering::AcqRel);
    while !TURN.load(Ordering::Acquire).is_multiple_of(FORKING) {
        std::thread::sleep(LOOK_EVERY);
    }
}

unsafe extern "C" fn end_fork() {
    // If the handlers were installed in the middle of a fork, `begin_fork` has not run.
    let _ = TURN.fetch_update(Ordering::Release, Ordering::Relaxed, |turn| turn.checked_sub(FORKING));
}

unsafe extern "C" fn begin_child() {
    forget_fork();
}

/// Resets [`TURN`] in a child, which begins with one thread and no fork.
fn forget_fork() {
    // Only once: another handler of the child may have called the library and started threads already.
    let _ = TURN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |turn| (turn >= FORKING).then_some(0));
}

/// Wipes the word in a child, where the kernel does not.
extern "C" fn wipe() {
    // SAFETY: as in `word`.
    if let Some(word) = unsafe { WORD.load(Ordering::Relaxed).as_ref() } {
        word.store(0, Ordering::Relaxed);
    }
}

/// Makes `new` the word of this process. If another thread was faster, returns the word of that thread instead.
fn publish(new: *mut AtomicU64) -> *mut AtomicU64 {
    match WORD.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => new,
        Err(there) => {
            if new != UNMAPPED.as_ptr().cast() {
                // SAFETY: `map` has just mapped the word, and it was not published.
                let _ = unsafe { munmap(new.cast(), size_of::<AtomicU64>()) };
            }
            there
        }
    }
}

/// The word of a process that cannot map a page, because its limits allow no more memory (RLIMIT_DATA, RLIMIT_AS).
static UNMAPPED: AtomicU64 = AtomicU64::new(0);

fn map() -> *mut AtomicU64 {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh anonymous mapping aliases nothing, is zeroed and aligned to a page.
    let page = unsafe { mmap_anonymous(ptr::null_mut(), size_of::<AtomicU64>(), access, MapFlags::PRIVATE) };
    // Miri supports neither this advice nor handlers of fork(3), and its programs do not fork.
    // SAFETY: the advice concerns only the page that was just mapped.
    let is_wiped = |page| cfg!(miri) || unsafe { madvise(page, 4096, Advice::LinuxWipeOnFork).is_ok() };
    if !page.is_ok_and(is_wiped) {
        UNWIPED.store(std::process::id(), Ordering::Relaxed);
        // If the handler cannot be registered, a child is detected by its process id.
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
    fn child_has_its_own_epoch() {
        let Some(_alone) = run_in_own_process() else { return };
        let here = epoch();
        assert!(here != 0 && here == epoch() && word().is(here));
        // The body allocates nothing and takes no lock, so other threads of the test do not matter.
        let mut child = Child::fork(|| i32::from(word().is(here) || epoch() == here)).expect("fork");
        assert!(child.wait().expect("wait").success());
        assert!(word().is(here));
    }

    /// Not a test of its own: [`child_is_detected_where_the_kernel_wipes_no_page`] starts it in a program that has not mapped
    /// the word yet.
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
            assert!(!word().is(here), "detected by one load");
            let child = epoch();
            let grandchild = || i32::from(word().is(child) || word().is(here) || epoch() == child);
            let mut grandchild = Child::fork(grandchild).expect("fork");
            i32::from(child == here || !word().is(child) || !grandchild.wait().expect("wait").success())
        };
        let mut child = Child::fork(known).expect("fork");
        assert!(child.wait().expect("wait").success());
        assert!(word().is(here));
        println!("a child was detected");
    }

    #[test]
    fn held_off_ends_with_a_panic() {
        let Some(_alone) = run_in_own_process() else { return };
        let panicked = std::panic::catch_unwind(|| held_off(|| panic!("as asked")));
        assert!(panicked.is_err() && !is_held_off());
        let mut child = Child::fork(|| 0).expect("fork");
        assert!(child.wait().expect("wait").success());
    }

    #[test]
    fn child_inherits_no_descriptor_of_held_off() {
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
                // The parent opens the writing end again and again. This process sees a hang-up in between, unless it has
                // inherited a copy.
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
    fn child_is_detected_where_the_kernel_wipes_no_page() {
        let mut program = std::process::Command::new(std::env::current_exe().expect("our own path"));
        program.args(["--exact", "fork::tests::without_wiping", "--nocapture"]).env("HEADWATER_NO_WIPE", "1");
        let done = program.output().expect("it starts");
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("a child was detected"), "{said}");
    }
}
