//! A background thread of a library: without signals, small, and safe to start in a forked child.
//!
//! The standard library's threads take locks of its own when they start; a process that is forked while another thread starts
//! has those locks taken for ever. The C library's own locks are freed by fork.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The calling thread's id, which in the first thread is the process's.
pub fn id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// The calling thread's name, put into `place`; empty if it is not UTF-8.
pub fn name(place: &mut [u8; 16]) -> &str {
    // SAFETY: the call writes at most 16 bytes, with a NUL at the end.
    unsafe { libc::prctl(libc::PR_GET_NAME, place.as_mut_ptr()) };
    std::ffi::CStr::from_bytes_until_nul(place).ok().and_then(|name| name.to_str().ok()).unwrap_or_default()
}

/// Does something while the calling thread handles no signal.
pub(crate) fn without_signals<T>(action: impl FnOnce() -> T) -> T {
    holding_signals(|_| action())
}

/// The signals that the calling thread handles again while it naps, in [`holding_signals`].
#[derive(Debug)]
pub struct HeldSignals {
    before: libc::sigset_t,
}

/// Also after a panic.
impl Drop for HeldSignals {
    fn drop(&mut self) {
        // SAFETY: the mask is there, and is what the thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

impl HeldSignals {
    /// The calling thread handles no signal from now on, until the value is dropped.
    pub(crate) fn now() -> HeldSignals {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigfillset initialises the set that is read, and pthread_sigmask the old mask, which the drop sets again.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            HeldSignals { before: before.assume_init() }
        }
    }

    /// Sleeps for that time. True if a signal handler has run, also for a signal that came before.
    pub fn nap(&self, time: Duration) -> bool {
        // The kernel's set is shorter than the C library's.
        const BYTES: usize = 8;
        let time =
            libc::timespec { tv_sec: time.as_secs().min(i64::MAX as u64) as _, tv_nsec: time.subsec_nanos().into() };
        // SAFETY: no descriptor is polled; the time and the mask are there. The kernel exchanges the mask and waits in one step.
        let slept = unsafe {
            let none = std::ptr::null_mut::<libc::pollfd>();
            libc::syscall(libc::SYS_ppoll, none, 0, &raw const time, &raw const self.before, BYTES)
        };
        slept < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    }
}

/// Does something while the calling thread handles signals in naps alone: so none is missed between two looks.
pub fn holding_signals<T>(action: impl FnOnce(&HeldSignals) -> T) -> T {
    action(&HeldSignals::now())
}

/// An action at the end of each thread that has asked for it. Unlike a thread-local with a destructor, asking for it
/// allocates nothing, so a signal handler may.
#[derive(Debug)]
pub struct AtEnd {
    what: extern "C" fn(*mut c_void),
    /// The C library's key, plus 1; 0: there is none yet.
    key: AtomicU32,
}

impl AtEnd {
    /// Of a program that is never unloaded. `what` is given nothing of use.
    pub const fn new(what: extern "C" fn(*mut c_void)) -> AtEnd {
        AtEnd { what, key: AtomicU32::new(0) }
    }

    /// Must be called before [`AtEnd::ask`]; more than once does no harm, if it is by one thread at a time.
    ///
    /// # Errors
    /// `EAGAIN` if the process has as many keys as it may.
    pub fn prepare(&self) -> io::Result<()> {
        if self.key.load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        let mut key: libc::pthread_key_t = 0;
        // SAFETY: the key is written to a place on the stack, and the function that is called at a thread's end is
        // never unloaded.
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

    /// Has it done at the end of this thread. glibc allocates nothing for the first 32 keys of a process; musl never does.
    pub fn ask(&self) {
        if let Some(key) = self.key.load(Ordering::Acquire).checked_sub(1) {
            // SAFETY: the key was made by `prepare`. The value is not null, so that the action runs, and it is never
            // dereferenced.
            unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(self).cast()) };
        }
    }
}

/// Threads of the library run put procedures, which call each other: as many as two ends have modules, 128, in frames as large as those
/// of a program's own modules. Pages that are not used are not there.
const STACK_BYTES: usize = 1 << 20;

/// A running thread. Dropped without [`Thread::join`], it runs on.
#[derive(Debug)]
pub struct Thread(libc::pthread_t);

// SAFETY: the number of a thread, which is a pointer in some C libraries and is never followed: any thread may join or detach it.
unsafe impl Send for Thread {}

/// What it runs.
type Body = Box<dyn FnOnce() + Send>;

impl Thread {
    /// Starts a thread that gets no signals. It must not panic, and ends when `body` returns.
    ///
    /// # Errors
    /// `EAGAIN` when the process or the system has as many threads as it may.
    pub fn start(body: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
        let body: Box<Body> = Box::new(Box::new(body));
        let body = Box::into_raw(body).cast::<c_void>();
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
        // A new thread inherits the mask.
        // SAFETY: each place is initialised by the call that is made for it before another reads it. `body` is given to the
        // thread, or taken back below.
        let code = without_signals(|| unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK_BYTES);
            let code = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, body);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            code
        });
        if code != 0 {
            // SAFETY: no thread was started, so the box is still ours alone.
            drop(unsafe { Box::from_raw(body.cast::<Body>()) });
            return Err(io::Error::from_raw_os_error(code));
        }
        // SAFETY: pthread_create has filled it in.
        Ok(Thread(unsafe { thread.assume_init() }))
    }

    /// Waits until it has ended. A forked child, which does not have the thread, forgets the value instead.
    pub fn join(self) {
        // SAFETY: the thread is of this process and nothing else has joined it, since that takes the `Thread`.
        unsafe { libc::pthread_join(self.0, std::ptr::null_mut()) };
    }

    /// Leaves it to itself: no thread waits for its end, and the process may end before it.
    pub fn detach(self) {
        // SAFETY: as for `join`.
        unsafe { libc::pthread_detach(self.0) };
    }
}

extern "C" fn run(body: *mut c_void) -> *mut c_void {
    // SAFETY: it is the box that `start` has given to this thread alone.
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

    /// Whether the calling thread blocks a signal.
    fn is_blocked(signal: i32) -> bool {
        let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: no mask is set, and the old one is filled in.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
            libc::sigismember(mask.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn it_runs_without_signals_and_is_waited_for() {
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
        assert!(!is_blocked(libc::SIGUSR1), "the starter's mask is as it was");
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
    fn what_a_thread_has_asked_for_is_done_at_its_end_once() {
        static DONE: AtomicU32 = AtomicU32::new(0);
        extern "C" fn done(_: *mut c_void) {
            DONE.fetch_add(1, Ordering::Relaxed);
        }
        static AT_END: AtEnd = AtEnd::new(done);
        // Without a key nothing happens.
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
    fn a_child_that_was_forked_while_threads_start_can_start_one() {
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
        // With the standard library's threads some of 20,000 hang.
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
