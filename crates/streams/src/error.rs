//! The error of an operation on a stream: the errno that the specification names, and the reason in words.
//!
//! Every module of the crate returns it. It becomes an [`io::Error`] of the same number in the Rust interface, and a
//! number in the C interface.

use std::borrow::Cow;
use std::fmt;
use std::io;

use headwater_os::one_word::{OneWord, View};

mod numbered;

use numbered::Numbered;
#[cfg_attr(loom, allow(unused_imports, reason = "only the lane is left"))]
pub(crate) use numbered::Text;

/// An error number, as Linux has them: any, not only those that have a name here. A module may raise one that STREAMS does
/// not name, and the kernel may report one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(i32);

/// Makes a constant of each, and the table of their names.
macro_rules! errnos {
    ($($(#[doc = $doc:literal])* $name:ident = $number:literal,)*) => {
        #[expect(non_upper_case_globals, reason = "they are matched like the variants of an enumeration")]
        impl Errno {
            $($(#[doc = $doc])* pub const $name: Errno = Errno($number);)*
        }

        const NAMES: &[(i32, &str)] = &[$(($number, stringify!($name)),)*];
    };
}

errnos! {
    /// Not the owner, and without the privileges for it.
    Perm = 1,
    /// No such file.
    Noent = 2,
    /// No such process.
    Srch = 3,
    /// Interrupted by a signal.
    Intr = 4,
    /// An I/O error: push and pop on a stream with an error.
    Io = 5,
    /// No such device or address: the stream has been hung up, or the FIFO has no reader.
    Nxio = 6,
    /// Not a descriptor that the call can use.
    Badf = 9,
    /// The call would wait, and was told not to.
    Again = 11,
    /// No permission.
    Acces = 13,
    /// An address at which the caller has no memory.
    Fault = 14,
    /// In use.
    Busy = 16,
    /// It exists.
    Exist = 17,
    /// No such device.
    Nodev = 19,
    /// An argument that makes no sense here.
    Inval = 22,
    /// No descriptor left.
    Mfile = 24,
    /// Beyond the process's limit of file sizes (RLIMIT_FSIZE).
    Fbig = 27,
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
    /// The stream is broken: its shared memory contains an impossible value.
    Proto = 71,
    /// The message at the front is of another kind.
    Badmsg = 74,
    /// A value that the structure has no room for.
    Overflow = 75,
}

impl Errno {
    /// The error of any number that Linux gives one.
    #[doc = include_str!("../doc/errors.md")]
    pub const fn new(number: i32) -> Errno {
        Errno(number)
    }

    /// The number that Linux gives it.
    #[doc = include_str!("../doc/errors.md")]
    pub const fn number(self) -> i32 {
        self.0
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => formatter.write_str(name),
            None => write!(formatter, "Errno({})", self.0),
        }
    }
}

/// An errno, and why.
///
/// The reason is the error's text. [`io::Error`] has room for a number or for a text, and not for both. By `?`, by `From` and
/// in the calls of [`io::Read`] and [`io::Write`] it has the number of an error that programs handle, such as `EAGAIN`,
/// `EINTR` and `EPIPE`, and the text of one that a person must read, whose number alone says too little: `EPROTO`, `ENOSR`,
/// `EPERM`, `ENOSTR`, `ERANGE`, `EBADMSG`, `EOVERFLOW`. `Error::from` gets the number of either.
/// [`Error::into_io_with_reason`] keeps the text of every error.
///
/// ```
/// use headwater_streams::{Errno, Error};
/// use std::io;
///
/// let refused = Error::new(Errno::Range, "a part of 9 bytes exceeds strctlsz 8");
/// let refused = io::Error::from(refused);
/// assert_eq!(refused.to_string(), "a part of 9 bytes exceeds strctlsz 8");
/// assert_eq!(Error::from(refused).errno(), Errno::Range);
/// let empty = Error::new(Errno::Again, "nothing to read");
/// assert_eq!(io::Error::from(empty).raw_os_error(), Some(11));
/// ```
// One word, so that a call's result fits in registers; no allocation where the reason is known when
/// the library is compiled, as that of every `EAGAIN` is.
pub struct Error(OneWord<Cause>);

#[derive(Debug)]
pub(crate) struct Cause {
    errno: Errno,
    why: Cow<'static, str>,
    /// The shared memory contradicts itself; `why` describes how.
    corrupt: bool,
    /// The stream's memory is invalid: no call on it can succeed any more.
    fatal: bool,
    /// Another user of the stream is in the middle of a call, and this call does not wait for it (any longer).
    held: bool,
    /// The kernel's error, where it is the cause.
    source: Option<io::Error>,
}

impl Clone for Cause {
    /// Without the kernel's error, which cannot be copied.
    fn clone(&self) -> Cause {
        Cause { why: self.why.clone(), source: None, ..*self }
    }
}

impl Cause {
    /// One that is known when the library is compiled. For [`fixed!`].
    pub const fn fixed(errno: Errno, why: &'static str) -> Cause {
        Cause { errno, why: Cow::Borrowed(why), corrupt: false, fatal: false, held: false, source: None }
    }

    /// Of a stream that is dead; the text describes how its memory contradicts itself.
    pub const fn corrupt(what: &'static str) -> Cause {
        Cause { errno: Errno::Proto, why: Cow::Borrowed(what), corrupt: true, fatal: true, held: false, source: None }
    }

    /// Of a stream that is dead.
    pub const fn broken(why: &'static str) -> Cause {
        Cause { errno: Errno::Proto, why: Cow::Borrowed(why), corrupt: false, fatal: true, held: false, source: None }
    }

    /// The same, because another user of the stream is in the middle of a call.
    const fn of_held(errno: Errno) -> Cause {
        const WHY: &str = "another user of the stream is in the middle of a call";
        Cause { errno, why: Cow::Borrowed(WHY), corrupt: false, fatal: false, held: true, source: None }
    }
}

/// An [`Error`] with that number and reason, without an allocation.
macro_rules! fixed {
    ($errno:ident, $why:literal) => {
        $crate::error::Error::of_static(const { &$crate::error::Cause::fixed($crate::error::Errno::$errno, $why) })
    };
}
#[cfg_attr(loom, allow(unused_imports, reason = "only the lane is left"))]
pub(crate) use fixed;

/// The error of a stream that is dead: its shared memory contradicts itself, as the text describes.
macro_rules! corrupt {
    ($what:literal) => {
        $crate::error::Error::of_static(const { &$crate::error::Cause::corrupt($what) })
    };
}
pub(crate) use corrupt;

/// The result of operations on streams.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with its reason; name the limit and its value where there is one.
    #[doc = include_str!("../doc/errors.md")]
    pub fn new(errno: Errno, why: impl Into<Cow<'static, str>>) -> Error {
        Error::of(Cause { errno, why: why.into(), corrupt: false, fatal: false, held: false, source: None })
    }

    fn of(cause: Cause) -> Error {
        Error(OneWord::from_box(Box::new(cause)))
    }

    /// For [`fixed!`].
    pub(crate) fn of_static(cause: &'static Cause) -> Error {
        Error(OneWord::from_static(cause))
    }

    fn of_number(number: usize) -> Error {
        Error(OneWord::from_number(number))
    }

    fn cause(&self) -> Option<&Cause> {
        match self.0.view() {
            View::Value(cause) => Some(cause),
            View::Number(_) => None,
        }
    }

    /// The errno.
    #[doc = include_str!("../doc/errors.md")]
    pub fn errno(&self) -> Errno {
        match self.0.view() {
            View::Value(cause) => cause.errno,
            View::Number(number) => Numbered(number).errno(),
        }
    }

    /// The same error again: for a stream that is dead, whose every call fails with it. Allocates only for one that does.
    pub(crate) fn again(&self) -> Error {
        match self.0.view() {
            View::Number(number) => Error::of_number(number),
            View::Value(_) => Error(self.0.clone()),
        }
    }

    /// An error after which no call on the stream can succeed any more.
    pub(crate) fn broken(errno: Errno, why: impl Into<Cow<'static, str>>) -> Error {
        Error::of(Cause { errno, why: why.into(), corrupt: false, fatal: true, held: false, source: None })
    }

    /// Converts it to an error of the standard library that has the reason as its text, and has the kind that belongs
    /// to the number. [`io::Error::raw_os_error`] does not give the number; `Error::from` restores it. It allocates.
    #[doc = include_str!("../doc/errors.md")]
    pub fn into_io_with_reason(self) -> io::Error {
        io::Error::new(io::Error::from_raw_os_error(self.errno().number()).kind(), self)
    }

    /// Whether the stream is dead.
    pub(crate) fn is_fatal(&self) -> bool {
        self.cause().is_some_and(|cause| cause.fatal)
    }

    /// Whether the call failed because another user of the same end is in the middle of a call and does not come out of it,
    /// being stopped for instance. Nothing was done, and no descriptor tells when it does: try again after a while, but after
    /// `EBADF`, which means that the end was closed meanwhile.
    #[doc = include_str!("../doc/errors.md")]
    pub fn is_held(&self) -> bool {
        self.cause().is_some_and(|cause| cause.held)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.view() {
            View::Value(cause) => formatter.debug_tuple("Error").field(cause).finish(),
            View::Number(_) => write!(formatter, "Error({:?}: {self})", self.errno()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.view() {
            View::Value(Cause { why, corrupt: true, .. }) => {
                write!(formatter, "the stream's shared memory is corrupt: {why}")
            }
            View::Value(cause) => formatter.write_str(&cause.why),
            View::Number(number) => Numbered(number).fmt(formatter),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause()?.source.as_ref().map(|source| source as _)
    }
}

impl From<io::Error> for Error {
    /// Keeps the number, and the reason of one that [`Error::into_io_with_reason`] has made.
    fn from(source: io::Error) -> Error {
        let source = match source.downcast::<Error>() {
            Ok(error) => return error,
            Err(source) => source,
        };
        let errno = match (source.raw_os_error(), source.kind()) {
            (Some(number), _) => Errno(number),
            (None, io::ErrorKind::Interrupted) => Errno::Intr,
            (None, io::ErrorKind::WouldBlock) => Errno::Again,
            (None, io::ErrorKind::NotFound) => Errno::Noent,
            (None, io::ErrorKind::InvalidInput) => Errno::Inval,
            (None, io::ErrorKind::BrokenPipe) => Errno::Pipe,
            (None, io::ErrorKind::PermissionDenied) => Errno::Acces,
            (None, io::ErrorKind::FileTooLarge) => Errno::Fbig,
            _ => Errno::Io,
        };
        match errno {
            Errno::Again => fixed!(Again, "the kernel would wait"),
            Errno::Intr => fixed!(Intr, "a signal handler ran"),
            errno => Error::of(Cause {
                errno,
                why: source.to_string().into(),
                corrupt: false,
                fatal: false,
                held: false,
                source: Some(source),
            }),
        }
    }
}

impl From<headwater_shm::Error> for Error {
    fn from(error: headwater_shm::Error) -> Error {
        use headwater_shm::Error::{Cancelled, Interrupted, TimedOut, WouldBlock};
        match error {
            WouldBlock => Error::of_static(const { &Cause::of_held(Errno::Again) }),
            TimedOut => Error::of_static(const { &Cause::of_held(Errno::Time) }),
            Interrupted => Error::of_static(const { &Cause::of_held(Errno::Intr) }),
            Cancelled => Error::of_static(const { &Cause::of_held(Errno::Badf) }),
            headwater_shm::Error::System(error) => error.into(),
            headwater_shm::Error::Full(_) => Error::new(Errno::Nosr, error.to_string()),
            headwater_shm::Error::Corrupt(headwater_shm::LOCK_STATE) => corrupt!("a lock's state"),
            headwater_shm::Error::Corrupt(headwater_shm::LOCK_HOLDER) => corrupt!("a lock's holder is no member"),
            headwater_shm::Error::Corrupt(_) => corrupt!("a log"),
        }
    }
}

/// The errors whose number alone says too little. Programs do not handle them in a loop, so that one may be allocated.
const EXPLAINED: [Errno; 7] =
    [Errno::Perm, Errno::Nostr, Errno::Nosr, Errno::Proto, Errno::Badmsg, Errno::Range, Errno::Overflow];

impl From<Error> for io::Error {
    /// Keeps the reason of an error whose number says too little, and the number of the others, which
    /// [`io::Error::raw_os_error`] gives: no [`io::Error`] has both. An error of the kernel keeps its number.
    fn from(error: Error) -> io::Error {
        let is_of_kernel = error.cause().is_some_and(|cause| cause.source.is_some());
        match EXPLAINED.contains(&error.errno()) && !is_of_kernel {
            true => error.into_io_with_reason(),
            false => io::Error::from_raw_os_error(error.errno().number()),
        }
    }
}
