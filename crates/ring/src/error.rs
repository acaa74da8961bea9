//! What can go wrong at one end of a ring.

use std::fmt;
use std::io;

/// Why an operation failed. Every error but [`Error::System`] is final: the same end keeps reporting it.
#[derive(Debug)]
pub enum Error {
    /// The other end is closed or its process has ended. For the receiver only after it has read what was published.
    Closed,
    /// The stream ended inside what [`Receiver::read_exact`](crate::Receiver::read_exact) was to read.
    UnexpectedEnd,
    /// The region contains an impossible value; the text names it. The peer is broken or hostile.
    Corrupt(&'static str),
    /// This half is already in use, by the process with this id.
    InUse(u32),
    /// The kernel refused something; `Unsupported` if this process cannot join the region's fence.
    System(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Closed => write!(f, "the other end of the ring is closed"),
            Error::UnexpectedEnd => write!(f, "the stream ended too early"),
            Error::Corrupt(what) => write!(f, "the shared region is corrupt: {what}"),
            Error::InUse(pid) => write!(f, "this half of the ring is in use by process {pid}"),
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
            Error::Closed => io::ErrorKind::BrokenPipe,
            Error::UnexpectedEnd => io::ErrorKind::UnexpectedEof,
            Error::Corrupt(_) => io::ErrorKind::InvalidData,
            Error::InUse(_) => io::ErrorKind::ResourceBusy,
            Error::System(_) => io::ErrorKind::Other,
        };
        match error {
            Error::System(error) => error,
            other => io::Error::new(kind, other),
        }
    }
}
