//! What a driver's open files must be, by the kernel's word. Each driver declares it for each place; a file is checked when a process of the
//! stream takes its copy, before the driver sees it: another process of the stream has put it there.

use std::fmt;
use std::os::fd::BorrowedFd;

use headwater_os::file_facts::{self, FileFact};
use headwater_os::files;

use crate::error::{Errno, Error, Result};

/// What the file at a place of a driver must be ([`DriverInfo::with_files`](crate::DriverInfo::with_files)).
///
/// There is none for a directory. A driver gets the directory of devices from
/// [`Queue::device_directory`](crate::Queue::device_directory), which this process has opened by its own path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc = include_str!("../../doc/queue_files.md")]
pub enum FileKind {
    /// A socket of TCP over IPv4 or IPv6 that does not wait.
    Tcp,
    /// A socket of UDP over IPv4 or IPv6 that does not wait.
    Udp,
    /// A socket of a raw protocol over IPv4 or IPv6 that does not wait.
    RawIp,
    /// Another socket that does not wait, by the numbers of socket(2). A process of this process's user, or of root, must have made it: what
    /// is sent over a local socket (AF_UNIX) may carry the sender's credentials.
    Socket {
        /// The family: `AF_UNIX` is 1.
        domain: i32,
        /// The type: `SOCK_STREAM` is 1, `SOCK_DGRAM` 2.
        kind: i32,
        /// The protocol.
        protocol: i32,
    },
    /// An end of a pipe, with or without a name. It may be one that waits.
    Pipe,
    /// A timer (timerfd_create(2)).
    Timer,
    /// A counter of events (eventfd(2)).
    EventCounter,
    /// A plain file that belongs to this process's user or to root.
    Plain,
}

impl FileKind {
    /// Checks a file that lies at a place.
    ///
    /// Errors: `EPROTO` for a file of another kind; `EACCES` for one that another user has made; what fstat(2) reports.
    pub(crate) fn check(self, fd: BorrowedFd<'_>) -> Result<()> {
        const INTERNET: [i32; 2] = [2, 10];
        let of_internet = |fact: &FileFact, of: i32, with: Option<i32>| {
            matches!(fact, FileFact::Socket { domain, kind, protocol }
                if INTERNET.contains(domain) && *kind == of && with.is_none_or(|with| *protocol == with))
        };
        let fact = file_facts::fact(fd)?;
        let (fits, must_be_own) = match self {
            FileKind::Tcp => (of_internet(&fact, 1, Some(6)), false),
            FileKind::Udp => (of_internet(&fact, 2, Some(17)), false),
            FileKind::RawIp => (of_internet(&fact, 3, None), false),
            FileKind::Socket { domain, kind, protocol } => (fact == FileFact::Socket { domain, kind, protocol }, true),
            FileKind::Pipe => (fact == FileFact::Pipe, false),
            FileKind::Timer => (fact == FileFact::Anonymous("timerfd".into()), false),
            FileKind::EventCounter => (fact == FileFact::Anonymous("eventfd".into()), false),
            FileKind::Plain => (fact == FileFact::Plain, true),
        };
        let is_socket = matches!(fact, FileFact::Socket { .. });
        if !fits || is_socket && !file_facts::is_nonblocking(fd)? {
            return Err(Error::new(Errno::Proto, format!("it must be {self}, and is another file")));
        }
        let maker = files::status(fd)?.owner;
        if must_be_own && maker != files::own_user() && maker != 0 {
            return Err(Error::new(Errno::Acces, format!("it must be {self}, and is of user {maker}")));
        }
        Ok(())
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileKind::Tcp => f.write_str("a socket of TCP that does not wait"),
            FileKind::Udp => f.write_str("a socket of UDP that does not wait"),
            FileKind::RawIp => f.write_str("a raw socket that does not wait"),
            FileKind::Socket { domain, kind, protocol } => write!(
                f,
                "a socket of family {domain}, type {kind} and protocol {protocol} that does not wait and is of this \
                 process's user or root"
            ),
            FileKind::Pipe => f.write_str("an end of a pipe"),
            FileKind::Timer => f.write_str("a timer"),
            FileKind::EventCounter => f.write_str("a counter of events"),
            FileKind::Plain => f.write_str("a plain file of this process's user or root"),
        }
    }
}
