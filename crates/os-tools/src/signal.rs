//! SIGINT, SIGTERM and SIGHUP as a descriptor: nothing runs in a handler, the caller polls and cleans up in order.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// A descriptor that becomes readable when the user or the system asks this process to stop.
#[derive(Debug)]
pub struct StopSignals {
    descriptor: OwnedFd,
}

impl StopSignals {
    /// Blocks the signals for this thread and those it starts, and opens the descriptor.
    ///
    /// # Errors
    /// What `signalfd(2)` reports.
    pub fn watch() -> io::Result<StopSignals> {
        let set = stop_set();
        // SAFETY: `set` is an initialised set; the old mask is not asked for.
        unsafe { libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
        // SAFETY: `set` is initialised and -1 asks for a new descriptor.
        let raw = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: signalfd has just made this descriptor and nothing else holds it.
        Ok(StopSignals { descriptor: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// The signal that has arrived, if any.
    pub fn taken(&self) -> Option<i32> {
        self.taken_with_sender().map(|(number, _)| number)
    }

    /// The signal that has arrived, if any, and whether the kernel sent it: for what was typed at the terminal, which then
    /// goes to the whole group of processes.
    pub fn taken_with_sender(&self) -> Option<(i32, bool)> {
        let mut information = [0u8; size_of::<libc::signalfd_siginfo>()];
        match rustix::io::read(&self.descriptor, &mut information) {
            Ok(count) if count == information.len() => {
                let word = |at: usize| i32::from_ne_bytes([0, 1, 2, 3].map(|byte| information[at + byte]));
                let code_at = std::mem::offset_of!(libc::signalfd_siginfo, ssi_code);
                Some((word(0), word(code_at) == libc::SI_KERNEL))
            }
            _ => None,
        }
    }
}

impl AsFd for StopSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Whether a stop signal is pending while they are blocked: for a caller that waits for something else and has no
/// descriptor.
pub fn is_stop_asked() -> bool {
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written by sigpending before it is read; all numbers are valid signals.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0
            && STOP.iter().any(|signal| libc::sigismember(pending.as_ptr(), *signal) == 1)
    }
}

/// Lets the stop signals through again: a program that is started inherits the mask.
pub fn unblock_stop_signals() {
    let set = stop_set();
    // SAFETY: `set` is an initialised set; the old mask is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut()) };
}

const STOP: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

fn stop_set() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set that sigaddset then changes; all numbers are valid signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in STOP {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}
