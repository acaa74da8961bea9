//! Errors of the structures in shared memory.

use std::fmt;
use std::io;

/// The text of [`Error::Corrupt`] for a lock word.
pub const LOCK_STATE: &str = "a lock's state";
/// The text of [`Error::Corrupt`] for the member that a lock names.
pub const LOCK_HOLDER: &str = "a lock's holder is no member";
/// The text of [`Error::Corrupt`] for the table of a region's members.
pub const TABLE: &str = "the table of its users";

/// The reason why an operation failed.
#[derive(Debug)]
pub enum Error {
    /// The region contains an impossible value, which the text names. The peer is broken or hostile.
    Corrupt(&'static str),
    /// The region has no room for another member. The value is the number of members that it has room for.
    Full(usize),
    /// Another member holds a [`BiasedLock`](crate::BiasedLock), and the call must not wait longer.
    WouldBlock,
    /// Another member holds a lock, and the time limit of the call has passed.
    TimedOut,
    /// A signal handler ran while the call waited for a lock.
    Interrupted,
    /// Another thread of the process has cancelled the call; see [`Membership::set_cancel`](crate::Membership::set_cancel).
    Cancelled,
    /// A system call failed. `Unsupported` if this process cannot join the region's fence.
    System(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Corrupt(what) => write!(f, "the shared region is corrupt: {what}"),
            Error::Full(most) => write!(f, "the stream already has {most} handles, which is the limit"),
            Error::WouldBlock => {
                write!(f, "another user of the stream is in the middle of a call")
            }
            Error::TimedOut => {
                write!(f, "the time limit has passed, and another user of the stream is in the middle of a call")
            }
            Error::Interrupted => write!(f, "a signal handler ran"),
            Error::Cancelled => write!(f, "the process has cancelled the call"),
            Error::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::System(error)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match &error {
            Error::Corrupt(_) => io::ErrorKind::InvalidData,
            Error::Full(_) => io::ErrorKind::ResourceBusy,
            Error::WouldBlock => io::ErrorKind::WouldBlock,
            Error::TimedOut => io::ErrorKind::TimedOut,
            Error::Interrupted => io::ErrorKind::Interrupted,
            Error::Cancelled | Error::System(_) => io::ErrorKind::Other,
        };
        match error {
            Error::System(error) => error,
            other => io::Error::new(kind, other),
        }
    }
}
