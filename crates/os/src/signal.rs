//! The signals that streams send.

/// Something has happened at a stream.
pub const SIGPOLL: i32 = libc::SIGPOLL;
/// A message of a priority band has arrived at a stream.
pub const SIGURG: i32 = libc::SIGURG;

/// Raises SIGPIPE in the calling thread, as the kernel does when it writes to a pipe without a reader.
pub fn raise_sigpipe() {
    // SAFETY: takes a number.
    unsafe { libc::raise(libc::SIGPIPE) };
}
