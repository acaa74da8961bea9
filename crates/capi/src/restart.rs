//! Restarts a call that a signal handler has interrupted (SA_RESTART). The kernel knows which handler ran; a library
//! does not. So a call restarts if every handler of the process asks for it, and fails with `EINTR` if one handler does
//! not.

use std::ffi::c_int;

use crate::errno::{Called, Failure};

/// Makes a call, and makes it again after `EINTR` if all signal handlers ask for that.
#[inline]
pub fn restarting<T>(mut call: impl FnMut() -> Called<T>) -> Called<T> {
    loop {
        match call() {
            Err(Failure(libc::EINTR)) if all_restart() => {}
            done => return done,
        }
    }
}

/// Signals that do not decide whether a call restarts: those that the C library uses for itself, and those of faults.
/// Handlers of faults report the end of the process, and say nothing about calls that wait.
const LEFT_OUT: [c_int; 9] =
    [32, 33, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS];

#[cold]
fn all_restart() -> bool {
    let before = crate::errno::last();
    let restarts = (1..=64).filter(|number| !LEFT_OUT.contains(number)).all(|number| {
        // SAFETY: zeros are a value of sigaction, and the call only stores the present action in `action`.
        let (asked, action) = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            (libc::sigaction(number, std::ptr::null(), &mut action), action)
        };
        let is_handled = asked == 0 && ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction);
        !is_handled || action.sa_flags & libc::SA_RESTART != 0
    });
    crate::errno::set(before.0);
    restarts
}
