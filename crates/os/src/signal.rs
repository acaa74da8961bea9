//! The signals that streams send.

use std::io;

use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

/// The signal for an event at a stream.
pub const SIGPOLL: i32 = libc::SIGPOLL;
/// The signal for a message of a priority band.
pub const SIGURG: i32 = libc::SIGURG;

/// Sends a signal to the calling process.
///
/// # Errors
/// The errors of kill(2).
pub fn signal_own(number: i32) -> io::Result<()> {
    let signal = Signal::from_named_raw(number).ok_or(Errno::INVAL)?;
    Ok(kill_process(getpid(), signal)?)
}

/// Raises SIGPIPE in the calling thread, as the kernel does when the thread writes to a pipe without a reader.
pub fn raise_sigpipe() {
    // SAFETY: the argument is a number.
    unsafe { libc::raise(libc::SIGPIPE) };
}
