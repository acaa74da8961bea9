//! A server's place in the file system, with the words of `UnixListener`: each process that connects to the path gets a stream of its own.
//! It is a pipe with the module `connld`, attached to a file ([`crate::attach`]).

use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use headwater_os::files::{self, OFlags};
use headwater_os::fork;

use crate::attach::{AttachedOptions, detach};
use crate::error::{Errno, Error, Result};
use crate::pipe::pipe;
use crate::stream::Stream;

/// EADDRINUSE and ECONNREFUSED (errno(3)), which STREAMS does not name.
const IN_USE: Errno = Errno::new(98);
const REFUSED: Errno = Errno::new(111);
/// ENFILE and ENOMEM.
const EXHAUSTED: [Errno; 3] = [Errno::Mfile, Errno::new(23), Errno::new(12)];

/// A path at which this process accepts connections.
///
/// As a descriptor it is readable when a client waits. Processes that may both read and write the file may connect: its mode is
/// 0666 without the umask, so that of usual umasks only the own user may. A forked child may accept as well. The path is removed when the
/// value is dropped, in the process that has bound it; one that a killed process has left behind can be bound again.
#[derive(Debug)]
#[doc = include_str!("../doc/listener.md")]
pub struct Listener {
    server: Stream,
    path: PathBuf,
    /// Device and inode of the file.
    file: (u64, u64),
    /// Of the process that has bound it.
    epoch: u64,
}

/// The process that has connected, as the kernel reported it: its effective user and group at that time; None if it did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc = include_str!("../doc/listener.md")]
pub struct PeerCredentials {
    /// The user.
    pub user: Option<u32>,
    /// The group.
    pub group: Option<u32>,
}

impl Listener {
    /// Makes a file at a path, and accepts connections there. An empty plain file of this user to which nothing is attached is taken as
    /// one that a killed server has left behind.
    ///
    /// # Errors
    /// `EADDRINUSE` if a server listens there, or anything else is there; what open(2) reports of the path, such as `ENOENT` and `EACCES`;
    /// `EMFILE` without 16 free descriptors.
    #[doc(alias = "fattach")]
    #[doc = include_str!("../doc/listener.md")]
    pub fn bind(path: impl AsRef<Path>) -> Result<Listener> {
        let path = std::path::absolute(path)?;
        let is_new = match OpenOptions::new().write(true).create_new(true).mode(0o666).open(&path) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error.into()),
        };
        Listener::bind_file(&path, is_new).inspect_err(|_| {
            if is_new {
                // Best effort: the failure is what counts.
                let _ = fs::remove_file(&path);
            }
        })
    }

    fn bind_file(path: &Path, is_new: bool) -> Result<Listener> {
        let in_use = |why: &str| Error::new(IN_USE, format!("{}: {why}", path.display()));
        let found = fs::symlink_metadata(path)?;
        if !is_new && (!found.is_file() || found.len() > 0 || found.uid() != files::own_user()) {
            return Err(in_use("it exists, and no server has left it behind"));
        }
        let (server, named) = pipe()?;
        named.push("connld")?;
        named.attach_to(path).map_err(|error| match error.errno() {
            Errno::Busy => in_use("a server listens there"),
            _ => error,
        })?;
        Ok(Listener { server, path: path.to_owned(), file: (found.dev(), found.ino()), epoch: fork::epoch() })
    }

    /// Waits for a client, and returns its stream and who it is. A client that has gone meanwhile is passed over.
    ///
    /// # Errors
    /// `EAGAIN` if no client waits and the listener must not wait; `EINTR` if a signal handler ran; `EMFILE`, `ENFILE` and `ENOMEM`: the
    /// client waits, or has lost its connection if its stream had arrived.
    #[doc(alias = "I_RECVFD")]
    #[doc = include_str!("../doc/listener.md")]
    pub fn accept(&self) -> Result<(Stream, PeerCredentials)> {
        loop {
            let received = self.server.files().receive_from()?;
            let peer = PeerCredentials { user: received.user, group: received.group };
            match received.into_stream() {
                Ok(stream) => return Ok((stream, peer)),
                Err(error) if EXHAUSTED.contains(&error.errno()) => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// Accepts one client after the other; ends never.
    #[doc = include_str!("../doc/listener.md")]
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming(self)
    }

    /// Whether [`Listener::accept`] fails with `EAGAIN` instead of waiting (O_NONBLOCK).
    ///
    /// # Errors
    /// As [`Stream::set_nonblocking`].
    #[doc = include_str!("../doc/listener.md")]
    pub fn set_nonblocking(&self, nonblocking: bool) -> Result<()> {
        self.server.set_nonblocking(nonblocking)
    }

    /// Where it listens.
    #[doc = include_str!("../doc/listener.md")]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.server.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let is_ours = || fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == self.file);
        // A forked child has a copy of the value, and not of the path; another file may have come there.
        if fork::epoch() == self.epoch && is_ours() {
            let _ = detach(&self.path);
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The clients of a [`Listener`], one after the other, without who they are.
#[derive(Debug)]
#[doc = include_str!("../doc/listener.md")]
pub struct Incoming<'a>(&'a Listener);

impl Iterator for Incoming<'_> {
    type Item = Result<Stream>;

    fn next(&mut self) -> Option<Result<Stream>> {
        Some(self.0.accept().map(|(stream, _)| stream))
    }
}

impl<'a> IntoIterator for &'a Listener {
    type Item = Result<Stream>;
    type IntoIter = Incoming<'a>;

    fn into_iter(self) -> Incoming<'a> {
        self.incoming()
    }
}

impl Stream {
    /// Connects to the [`Listener`] at a path, and waits until it has accepted. Of another stream that is attached there it gives that one
    /// ([`Stream::open_attached`]).
    ///
    /// # Errors
    /// `ECONNREFUSED` if nothing is attached to the file, or its process has ended; else as [`AttachedOptions::open`], such as
    /// `ENOENT`, `EACCES` and `ENXIO`.
    #[doc = include_str!("../doc/listener.md")]
    pub fn connect(path: impl AsRef<Path>) -> Result<Stream> {
        let path = path.as_ref();
        match AttachedOptions::new().open(path)? {
            Some(stream) => Ok(stream),
            None => {
                // Where a plain file may not be opened nothing is known of what is attached. Opening a device may have effects.
                let found = files::find(path)?;
                if files::is_plain(&found)? {
                    found.open(OFlags::RDWR)?;
                }
                Err(Error::new(REFUSED, format!("{}: no server listens there", path.display())))
            }
        }
    }
}
