//! Signal handlers that do next to nothing, so that what a signal costs can be measured. The product itself polls a
//! descriptor for signals ([`crate::signal`]), and handles SIGXFSZ by [`Handler::Empty`], so that a file that grows too large
//! is an error of a write.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::Signal;

/// The action for a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handler {
    /// The system's default.
    Default,
    /// A function that returns at once.
    Empty,
    /// A function that adds 1 to [`counted`].
    Counting,
}

/// Signals that [`Handler::Counting`] has handled in this process.
static COUNTED: AtomicU64 = AtomicU64::new(0);

/// How many signals [`Handler::Counting`] has handled in this process.
pub fn counted() -> u64 {
    COUNTED.load(Ordering::Relaxed)
}

/// Sets the action for `signal`: one `sigaction(2)`, which also returns the action before. The other signals are
/// not blocked meanwhile.
///
/// # Errors
/// What `sigaction(2)` reports: `EINVAL` for a signal that cannot be handled.
#[inline]
pub fn install(signal: Signal, handler: Handler) -> io::Result<()> {
    let address = match handler {
        Handler::Default => libc::SIG_DFL,
        Handler::Empty => empty as *const () as libc::sighandler_t,
        Handler::Counting => count as *const () as libc::sighandler_t,
    };
    // SAFETY: all zeros is an action: the default, an empty mask and no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = address;
    let mut before = std::mem::MaybeUninit::uninit();
    // SAFETY: the action is initialised and is not kept; there is room for the one before, which is never read; both
    // functions are safe in a handler, because they take no lock, allocate nothing and leave errno alone.
    match unsafe { libc::sigaction(signal.as_raw(), &action, before.as_mut_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn empty(_signal: libc::c_int) {}

extern "C" fn count(_signal: libc::c_int) {
    COUNTED.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use rustix::process::{getpid, kill_process};

    use super::*;
    use headwater_os::child::Child;

    /// Signals handled after each of four steps. In a process of its own, with one thread: the kernel then delivers a
    /// signal before the call that sends it returns.
    fn handled() -> [u64; 4] {
        let send = |handler| {
            install(Signal::URG, handler).expect("it can be handled");
            kill_process(getpid(), Signal::URG).expect("it is our own");
            counted()
        };
        [send(Handler::Counting), send(Handler::Counting), send(Handler::Empty), send(Handler::Default)]
    }

    #[test]
    fn a_signal_runs_the_handler_that_was_installed_last() {
        let mut child = Child::fork(|| i32::from(handled() != [1, 2, 2, 2])).expect("fork");
        assert!(child.wait().expect("wait").success());
    }

    #[test]
    fn a_signal_that_cannot_be_handled_is_refused() {
        assert_eq!(install(Signal::KILL, Handler::Empty).expect_err("it cannot").raw_os_error(), Some(libc::EINVAL));
    }
}
