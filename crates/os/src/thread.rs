//! Threads of a library: without signals, with a small stack, and safe to start in a forked child. And the id, the name, the
//! signal mask and the end of the calling thread.
//!
//! A thread of the standard library takes locks when it starts. If the process is forked meanwhile, these locks stay locked in the
//! child for ever. Fork frees the locks of the C library.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Returns the id of the calling thread. For the first thread it is the process id.
pub fn id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// Returns the name of the calling thread, stored in `place`. It is empty if the name is not UTF-8.
pub fn name(place: &mut [u8; 16]) -> &str {
    // SAFETY: the call writes at most 16 bytes, with a NUL at the end.
    unsafe { libc::prctl(libc::PR_GET_NAME, place.as_mut_ptr()) };
    std::ffi::CStr::from_bytes_until_nul(place).ok().and_then(|name| name.to_str().ok()).unwrap_or_default()
}

/// Calls `action` while the calling thread handles no signals.
pub(crate) fn without_signals<T>(action: impl FnOnce() -> T) -> T {
    holding_signals(|_| action())
}

/// Blocks all signals in the calling thread until it is dropped, except during [`HeldSignals::nap`].
#[derive(Debug)]
pub struct HeldSignals {
    before: libc::sigset_t,
}

impl Drop for HeldSignals {
    /// Restores the signal mask, also after a panic.
    fn drop(&mut self) {
        // SAFETY: the mask is initialized: it is the one that the thread had before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

impl HeldSignals {
    /// Blocks all signals in the calling thread until the value is dropped.
    pub(crate) fn now() -> HeldSignals {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigfillset initializes the set that is read, and pthread_sigmask initializes the old mask.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            HeldSignals { before: before.assume_init() }
        }
    }

    /// Sleeps for `time` with the old signal mask. Returns whether a signal handler has run, also for a signal that was pending
    /// before.
    pub fn nap(&self, time: Duration) -> bool {
        // The kernel's set is shorter than the C library's.
        const BYTES: usize = 8;
        let time =
            libc::timespec { tv_sec: time.as_secs().min(i64::MAX as u64) as _, tv_nsec: time.subsec_nanos().into() };
        // SAFETY: no descriptor is polled, and the time and the mask are valid. The kernel changes the mask and waits in one step.
        let slept = unsafe {
            let none = std::ptr::null_mut::<libc::pollfd>();
            libc::syscall(libc::SYS_ppoll, none, 0, &raw const time, &raw const self.before, BYTES)
        };
        slept < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    }
}

/// Calls `action` while the calling thread handles signals only in naps. So no signal is handled between a check and a nap.
pub fn holding_signals<T>(action: impl FnOnce(&HeldSignals) -> T) -> T {
    action(&HeldSignals::now())
}

/// A function that is called at the end of each thread that has called [`AtEnd::ask`]. Unlike a thread-local with a destructor,
/// asking allocates nothing, so a signal handler may do it.
#[derive(Debug)]
pub struct AtEnd {
    what: extern "C" fn(*mut c_void),
    /// The key of the C library, plus 1; 0 before [`AtEnd::prepare`].
    key: AtomicU32,
}

impl AtEnd {
    /// Takes the function to call. Its code must never be unloaded. Its argument has no meaning.
    pub const fn new(what: extern "C" fn(*mut c_void)) -> AtEnd {
        AtEnd { what, key: AtomicU32::new(0) }
    }

    /// Makes the key. Must be called before [`AtEnd::ask`], by one thread at a time. A second call does nothing.
    ///
    /// # Errors
    /// `EAGAIN` if the process has as many keys as it may.
    pub fn prepare(&self) -> io::Result<()> {
        if self.key.load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        let mut key: libc::pthread_key_t = 0;
        // SAFETY: the key is written to a place on the stack, and the function that is called at the end of a thread is never
        // unloaded.
        let code = unsafe {
            let what = std::mem::transmute::<extern "C" fn(*mut c_void), unsafe extern "C" fn(*mut c_void)>(self.what);
            libc::pthread_key_create(&mut key, Some(what))
        };
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code));
        }
        self.key.store(key + 1, Ordering::Release);
        Ok(())
    }

    /// Asks for the call at the end of this thread. glibc allocates nothing for the first 32 keys of a process; musl never does.
    pub fn ask(&self) {
        if let Some(key) = self.key.load(Ordering::Acquire).checked_sub(1) {
            // SAFETY: `prepare` has made the key. The value is not null, so that the function is called, and it is never
            // dereferenced.
            unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(self).cast()) };
        }
    }
}

/// The size of a thread's stack in bytes. Threads of the library run put procedures, which call each other: up to 128, the number
/// of modules of two ends. The frames may be large, because modules may be the program's own. Unused pages take no memory.
const STACK_BYTES: usize = 1 << 20;

/// A running thread. If it is dropped without [`Thread::join`], the thread continues.
#[derive(Debug)]
pub struct Thread(libc::pthread_t);

// SAFETY: any thread may join or detach the thread. The handle is a pointer in some C libraries, but is never dereferenced here.
unsafe impl Send for Thread {}

/// The function that a thread runs.
type Body = Box<dyn FnOnce() + Send>;

impl Thread {
    /// Starts a thread that runs `body` and handles no signals. `body` must not panic.
    ///
    /// # Errors
    /// `EAGAIN` when the process or the system has as many threads as it may.
    pub fn start(body: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
        let body: Box<Body> = Box::new(Box::new(body));
        let body = Box::into_raw(body).cast::<c_void>();
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
        // A new thread inherits the signal mask.
        // SAFETY: each place is initialized before it is read. The new thread owns `body`; if none was started, it is freed below.
        let code = without_signals(|| unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK_BYTES);
            let code = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, body);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            code
        });
        if code != 0 {
            // SAFETY: no thread was started, so the box still belongs to this function.
            drop(unsafe { Box::from_raw(body.cast::<Body>()) });
            return Err(io::Error::from_raw_os_error(code));
        }
        // SAFETY: pthread_create has initialized it.
        Ok(Thread(unsafe { thread.assume_init() }))
    }

    /// Waits until the thread has ended. A forked child does not have the thread, and must not call this.
    pub fn join(self) {
        // SAFETY: the thread is one of this process, and was not joined or detached, since both take the `Thread`.
        unsafe { libc::pthread_join(self.0, std::ptr::null_mut()) };
    }

    /// Detaches the thread: no thread can wait for its end, and the process may end before it.
    pub fn detach(self) {
        // SAFETY: as for `join`.
        unsafe { libc::pthread_detach(self.0) };
    }
}

extern "C" fn run(body: *mut c_void) -> *mut c_void {
    // SAFETY: `start` has given this box to this thread only.
    let body = unsafe { Box::from_raw(body.cast::<Body>()) };
    body();
    std::ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::child::Child;
    use crate::own_process::run_in_own_process;

    /// Returns whether the calling thread blocks a signal.
    fn is_blocked(signal: i32) -> bool {
        let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: no mask is set, and the old one is initialized.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
            libc::sigismember(mask.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn thread_blocks_signals_and_can_be_joined() {
        let done = Arc::new(AtomicBool::new(false));
        let thread = Thread::start({
            let done = done.clone();
            move || {
                let blocked = is_blocked(libc::SIGUSR1);
                std::thread::sleep(Duration::from_millis(20));
                done.store(blocked, Ordering::Relaxed);
            }
        });
        thread.expect("a thread").join();
        assert!(done.load(Ordering::Relaxed));
        assert!(!is_blocked(libc::SIGUSR1), "the mask of this thread is restored");
    }

    #[test]
    fn signals_are_handled_again_after_a_panic() {
        let panicked = std::panic::catch_unwind(|| {
            without_signals(|| {
                assert!(is_blocked(libc::SIGUSR1));
                panic!("as asked");
            });
        });
        assert!(panicked.is_err() && !is_blocked(libc::SIGUSR1));
    }

    #[test]
    fn at_end_calls_the_function_once_per_thread() {
        static DONE: AtomicU32 = AtomicU32::new(0);
        extern "C" fn done(_: *mut c_void) {
            DONE.fetch_add(1, Ordering::Relaxed);
        }
        static AT_END: AtEnd = AtEnd::new(done);
        // Without a key, `ask` does nothing.
        AT_END.ask();
        AT_END.prepare().expect("a key");
        AT_END.prepare().expect("it has one");
        for asks in [0, 1, 3] {
            let before = DONE.load(Ordering::Relaxed);
            let thread = std::thread::spawn(move || (0..asks).for_each(|_| AT_END.ask()));
            thread.join().expect("it ends");
            assert_eq!(DONE.load(Ordering::Relaxed) - before, u32::from(asks > 0));
        }
    }

    #[test]
    fn child_forked_while_threads_start_can_start_a_thread() {
        let Some(_alone) = run_in_own_process() else { return };
        let stop = Arc::new(AtomicBool::new(false));
        let starters = [(); 3].map(|()| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::spawn(|| {}).join().expect("it ends");
                }
            })
        });
        // With threads of the standard library, some of 20,000 children hang.
        for _ in 0..1000 {
            let mut child = Child::fork(|| {
                Thread::start(|| {}).expect("a thread").join();
                0
            })
            .expect("fork");
            let start = std::time::Instant::now();
            while child.try_wait().expect("wait").is_none() {
                assert!(start.elapsed() < Duration::from_secs(60), "the child hangs");
                std::thread::yield_now();
            }
        }
        stop.store(true, Ordering::Relaxed);
        starters.into_iter().for_each(|starter| starter.join().expect("it ends"));
    }
}
