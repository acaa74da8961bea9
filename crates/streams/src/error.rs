//! What an operation on a stream can fail with: the errno that the specification names, and why in words.
//!
//! Every room of the crate returns it. It becomes an [`io::Error`] of the fitting kind at the Rust face, and a number at
//! the C face.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// The errors that STREAMS names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Errno {
    /// Interrupted by a signal.
    Intr = 4,
    /// An I/O error: push and pop on a stream with an error.
    Io = 5,
    /// No such device or address: the stream has been hung up, or nobody reads the FIFO.
    Nxio = 6,
    /// Not a descriptor that the call can use.
    Badf = 9,
    /// The call would wait, and was told not to.
    Again = 11,
    /// No permission.
    Acces = 13,
    /// In use.
    Busy = 16,
    /// An argument that makes no sense here.
    Inval = 22,
    /// No descriptor left.
    Mfile = 24,
    /// The reader is gone.
    Pipe = 32,
    /// A size outside the stream's limits.
    Range = 34,
    /// The descriptor is no stream.
    Nostr = 60,
    /// Nothing of that kind is there.
    Nodata = 61,
    /// Time is over.
    Time = 62,
    /// The stream's memory is used up.
    Nosr = 63,
    /// The stream is broken: its shared memory says what cannot be.
    Proto = 71,
    /// The message at the front is of another kind.
    Badmsg = 74,
}

impl Errno {
    /// The one of that number; [`Errno::Io`] for one that STREAMS does not name.
    pub(crate) fn of(number: u32) -> Errno {
        use Errno::*;
        let all = [
            Intr, Io, Nxio, Badf, Again, Acces, Busy, Inval, Mfile, Pipe, Range, Nostr, Nodata, Time, Nosr, Proto,
            Badmsg,
        ];
        all.into_iter().find(|errno| *errno as u32 == number).unwrap_or(Io)
    }

    /// The number that Linux gives it.
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// An errno, and why. One word, so that what a call returns fits in registers.
#[derive(Debug)]
pub struct Error(Box<Cause>);

#[derive(Debug)]
struct Cause {
    errno: Errno,
    why: Cow<'static, str>,
    /// The stream's memory makes no sense: no call on it can succeed any more.
    fatal: bool,
    /// What the kernel said, where it is the cause.
    source: Option<io::Error>,
}

/// What operations on streams return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with its reason; name the limit and its value where there is one.
    pub fn new(errno: Errno, why: impl Into<Cow<'static, str>>) -> Error {
        Error(Box::new(Cause { errno, why: why.into(), fatal: false, source: None }))
    }

    /// The errno.
    pub fn errno(&self) -> Errno {
        self.0.errno
    }

    /// The shared memory contradicts itself; the text says how. The stream is dead.
    pub(crate) fn corrupt(what: &'static str) -> Error {
        let mut error = Error::new(Errno::Proto, format!("the stream's shared memory is corrupt: {what}"));
        error.0.fatal = true;
        error
    }

    /// An error after which no call on the stream can succeed any more.
    pub(crate) fn broken(errno: Errno, why: impl Into<Cow<'static, str>>) -> Error {
        let mut error = Error::new(errno, why);
        error.0.fatal = true;
        error
    }

    /// Whether the stream is dead.
    pub(crate) fn is_fatal(&self) -> bool {
        self.0.fatal
    }

    /// The call would have to wait.
    pub(crate) fn again(why: &'static str) -> Error {
        Error::new(Errno::Again, why)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.why)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Error {
        let errno = match source.kind() {
            io::ErrorKind::Interrupted => Errno::Intr,
            io::ErrorKind::WouldBlock => Errno::Again,
            io::ErrorKind::InvalidInput => Errno::Inval,
            io::ErrorKind::BrokenPipe => Errno::Pipe,
            io::ErrorKind::PermissionDenied => Errno::Acces,
            _ if matches!(source.raw_os_error(), Some(23 | 24)) => Errno::Mfile,
            _ => Errno::Io,
        };
        Error(Box::new(Cause { errno, why: source.to_string().into(), fatal: false, source: Some(source) }))
    }
}

impl From<headwater_shm::Error> for Error {
    fn from(error: headwater_shm::Error) -> Error {
        match error {
            headwater_shm::Error::System(error) => error.into(),
            headwater_shm::Error::Full(_) => Error::new(Errno::Nosr, error.to_string()),
            headwater_shm::Error::Corrupt(what) => Error::corrupt(what),
            other => Error::new(Errno::Proto, other.to_string()),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match error.errno() {
            Errno::Intr => io::ErrorKind::Interrupted,
            Errno::Again => io::ErrorKind::WouldBlock,
            Errno::Inval | Errno::Range | Errno::Nostr | Errno::Badf => io::ErrorKind::InvalidInput,
            Errno::Pipe => io::ErrorKind::BrokenPipe,
            Errno::Acces => io::ErrorKind::PermissionDenied,
            Errno::Nxio => io::ErrorKind::NotConnected,
            Errno::Proto | Errno::Badmsg => io::ErrorKind::InvalidData,
            Errno::Time => io::ErrorKind::TimedOut,
            Errno::Busy => io::ErrorKind::ResourceBusy,
            Errno::Nosr => io::ErrorKind::OutOfMemory,
            Errno::Io | Errno::Mfile | Errno::Nodata => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}
