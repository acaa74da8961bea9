//! A POSIX message queue without a name: it is unlinked before another process can open it, and lives as long as a
//! descriptor of it does.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// The sending end.
#[derive(Debug)]
pub struct Sender {
    descriptor: OwnedFd,
}

/// The receiving end; messages come in the order in which they were sent.
#[derive(Debug)]
pub struct Receiver {
    descriptor: OwnedFd,
}

/// Names that are taken (by a process that was killed between two calls and had our id) before it is given up.
const NAMES_TRIED: u32 = 16;

/// Makes a queue of at most `depth` messages of at most `size_bytes` each, and opens both of its ends.
///
/// # Errors
/// `EINVAL` beyond `fs.mqueue.msg_max` or `fs.mqueue.msgsize_max`, `EMFILE` beyond `RLIMIT_MSGQUEUE` (all queues of the
/// user together), `ENOSPC` beyond `fs.mqueue.queues_max`, `ENOSYS` without the kernel's support.
pub fn pair(depth: usize, size_bytes: usize, nonblocking: bool) -> io::Result<(Sender, Receiver)> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    // SAFETY: mq_attr is plain integers, for which zero is a value.
    let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
    attributes.mq_maxmsg = depth.try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
    attributes.mq_msgsize = size_bytes.try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
    let flags = libc::O_CLOEXEC | if nonblocking { libc::O_NONBLOCK } else { 0 };
    for _ in 0..NAMES_TRIED {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("/headwater-{}-{number}", std::process::id()))?;
        let created = open(&name, flags | libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, &mut attributes);
        let sender = match created {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            other => Sender { descriptor: other? },
        };
        let opened = open(&name, flags | libc::O_RDONLY, ptr::null_mut());
        // SAFETY: the name ends with a NUL. It is ours, so that nothing but our own queue loses its name.
        let unlinked = unsafe { libc::mq_unlink(name.as_ptr()) };
        if unlinked != 0 {
            return Err(io::Error::last_os_error());
        }
        return Ok((sender, Receiver { descriptor: opened? }));
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn open(name: &CString, flags: i32, attributes: *mut libc::mq_attr) -> io::Result<OwnedFd> {
    // The owner alone may open it.
    const MODE: libc::mode_t = 0o600;
    // SAFETY: the name ends with a NUL; the attributes are null or a valid mq_attr of the caller's.
    match unsafe { libc::mq_open(name.as_ptr(), flags, MODE, attributes) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: on Linux a message queue descriptor is a file descriptor (mq_overview(7)); this one is new, so
        // nothing else owns it.
        descriptor => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
    }
}

impl Sender {
    /// Puts a message in, with priority 0; waits for room unless the queue is non-blocking.
    ///
    /// # Errors
    /// `EAGAIN` (`WouldBlock`) when it is full and non-blocking, `EMSGSIZE` for a message that is too long, `EINTR`.
    #[inline]
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: the kernel reads `message` only, within its length.
        let sent = unsafe { libc::mq_send(self.descriptor.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Receiver {
    /// Takes the oldest message out and returns its length; waits for one unless the queue is non-blocking. The
    /// buffer must hold as many bytes as the queue's largest message, however short the message is.
    ///
    /// # Errors
    /// `EAGAIN` (`WouldBlock`) when it is empty and non-blocking, `EMSGSIZE` for a buffer that is too short, `EINTR`.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let descriptor = self.descriptor.as_raw_fd();
        // SAFETY: the kernel writes into `buffer` only, within its length; a null priority is allowed.
        let count = unsafe { libc::mq_receive(descriptor, buffer.as_mut_ptr().cast(), buffer.len(), ptr::null_mut()) };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests;
