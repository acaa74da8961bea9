//! A System V message queue without a key. It outlives its processes, so that it belongs into a private IPC namespace
//! ([`crate::namespace::private_ipc`]), which ends with its last process; all other users call [`Queue::remove`].

use std::io;

/// A queue, by its identifier: it is not bound to this process, and children use it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    id: i32,
}

/// A message with the type in front of it, as msgsnd(2) and msgrcv(2) want it. Every message is copied in and out of
/// it, which is what any user of these calls does whose data do not start with such a word.
#[derive(Debug)]
pub struct Envelope {
    /// The type, then the message; of words, so that the type is aligned.
    words: Vec<libc::c_long>,
    /// Bytes of the longest message.
    capacity: usize,
}

/// The type of every message here; it only has to be positive.
const TYPE: libc::c_long = 1;

/// Bytes of the type.
const TYPE_BYTES: usize = size_of::<libc::c_long>();

impl Envelope {
    /// For messages of up to `capacity` bytes; touched throughout.
    pub fn new(capacity: usize) -> Envelope {
        Envelope { words: vec![TYPE; 1 + capacity.div_ceil(TYPE_BYTES)], capacity }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let length = self.words.len() * TYPE_BYTES;
        // SAFETY: the words are initialised, and integers may be seen as bytes; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast::<u8>(), length) }
    }

    fn message_mut(&mut self) -> &mut [u8] {
        let end = TYPE_BYTES + self.capacity;
        &mut self.bytes_mut()[TYPE_BYTES..end]
    }
}

impl Queue {
    /// Makes a queue that holds as many bytes as `kernel.msgmnb` says now; only its owner may use it.
    ///
    /// # Errors
    /// `ENOSPC` beyond `kernel.msgmni`, `ENOMEM`, `ENOSYS` without the kernel's support.
    pub fn create() -> io::Result<Queue> {
        // SAFETY: msgget touches no memory of ours.
        match unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) } {
            -1 => Err(io::Error::last_os_error()),
            id => Ok(Queue { id }),
        }
    }

    /// Puts a message in; waits for room unless it is not to block.
    ///
    /// # Errors
    /// `EAGAIN` (`WouldBlock`) when it is full and not to block, `EINVAL` for a message beyond `kernel.msgmax` or the
    /// envelope, `EIDRM` when the queue was removed, `EINTR`.
    #[inline]
    pub fn send(self, message: &[u8], envelope: &mut Envelope, nonblocking: bool) -> io::Result<()> {
        let Some(place) = envelope.message_mut().get_mut(..message.len()) else {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        };
        place.copy_from_slice(message);
        envelope.words[0] = TYPE;
        // SAFETY: the words start with a type and hold `message.len()` bytes behind it; the kernel only reads them.
        let sent = unsafe { libc::msgsnd(self.id, envelope.words.as_ptr().cast(), message.len(), flags(nonblocking)) };
        if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Takes the oldest message out and returns its length; waits for one unless it is not to block.
    ///
    /// # Errors
    /// `EAGAIN` (`WouldBlock`) when it is empty and not to block, `E2BIG` for a message that `buffer` or the envelope
    /// cannot hold (it stays in the queue), `EIDRM` when the queue was removed, `EINTR`.
    #[inline]
    pub fn receive(self, buffer: &mut [u8], envelope: &mut Envelope, nonblocking: bool) -> io::Result<usize> {
        let room = buffer.len().min(envelope.capacity);
        // SAFETY: the words have room for a type and `room` bytes behind it, and the borrow is exclusive.
        let count = unsafe { libc::msgrcv(self.id, envelope.words.as_mut_ptr().cast(), room, 0, flags(nonblocking)) };
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            // The System V calls have an error of their own for an empty queue.
            let empty = error.raw_os_error() == Some(libc::ENOMSG);
            return Err(if empty { io::ErrorKind::WouldBlock.into() } else { error });
        };
        buffer[..count].copy_from_slice(&envelope.message_mut()[..count]);
        Ok(count)
    }

    /// Removes the queue; its waiters get `EIDRM`.
    ///
    /// # Errors
    /// `EINVAL` when it is gone already.
    pub fn remove(self) -> io::Result<()> {
        // SAFETY: IPC_RMID ignores the buffer.
        let removed = unsafe { libc::msgctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
        if removed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[inline]
fn flags(nonblocking: bool) -> i32 {
    if nonblocking { libc::IPC_NOWAIT } else { 0 }
}

#[cfg(test)]
mod tests;
