//! Streams that are attached to names of the file system (fattach, fdetach): the calls. What is attached, and how another process finds
//! it, is in `node`; the process that holds it in `holder`; a process that opens the name in `ask`.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;

use headwater_os::descriptors::{Found, Pinned};
use headwater_os::files;

use self::node::named;
use crate::error::{Error, Result, fixed};
use crate::head::handle::Handle;
use crate::head::state::{LINKED, linked};
use crate::stream::Stream;

mod ask;
mod holder;
mod node;
mod protocol;

/// How a name is opened to which a stream is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
#[doc = include_str!("../../doc/attached.md")]
pub struct AttachedOptions {
    /// Calls, and the open itself, fail instead of waiting (O_NONBLOCK).
    pub nonblocking: bool,
    /// The driver of the stream; None: any, if a process of this process's user or root holds the attachment, and else that of a pipe or
    /// FIFO.
    pub driver: Option<&'static str>,
}

impl AttachedOptions {
    /// Those of [`Stream::open_attached`]: calls wait.
    #[doc = include_str!("../../doc/attached.md")]
    pub const fn new() -> AttachedOptions {
        AttachedOptions { nonblocking: false, driver: None }
    }

    /// Whether calls fail with `EAGAIN` instead of waiting, and an open waits for the server of a connection for at most 0.2 s.
    #[must_use]
    #[doc(alias = "O_NONBLOCK")]
    #[doc = include_str!("../../doc/attached.md")]
    pub const fn nonblocking(self, nonblocking: bool) -> AttachedOptions {
        AttachedOptions { nonblocking, ..self }
    }

    /// Asks for a stream of this driver and no other, also if a process of another user holds the attachment.
    #[must_use]
    #[doc = include_str!("../../doc/attached.md")]
    pub const fn driver(self, driver: &'static str) -> AttachedOptions {
        AttachedOptions { driver: Some(driver), ..self }
    }

    /// Opens the stream that is attached to the file that a path leads to; None if there is none, or this process may neither read nor
    /// write the file: then open(2) says what the path is. Where the attached end has the module `connld`, the result is an end of a
    /// new pipe, whose other end the server has received.
    ///
    /// # Errors
    /// `EACCES` without the permission to both read and write the file, and for a stream of a driver that was not asked for
    /// ([`AttachedOptions::driver`]); `EBUSY` if the process that holds the stream does not
    /// answer within 0.5 s, or 0.2 s if the open must not wait; `EAGAIN` if it must not wait and the server does not receive the
    /// connection in that time; `ENXIO` if the server has ended, or the holder cannot be reached; `EINTR` if a signal handler ran;
    /// `EPROTO` for an answer that is no stream; `EMFILE`; what open(2) reports of the path.
    #[doc = include_str!("../../doc/attached.md")]
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Option<Stream>> {
        let path = path.as_ref();
        let found = node::find(path).map_err(Error::from).and_then(|node| self.open_node(node));
        found.map_err(|error| named(path, error))
    }

    /// As [`AttachedOptions::open`], of a file that is open here, however it was found.
    ///
    /// # Errors
    /// As [`AttachedOptions::open`].
    #[doc = include_str!("../../doc/attached.md")]
    pub fn open_file(&self, file: impl AsFd) -> Result<Option<Stream>> {
        if !files::is_plain(&file)? {
            return Ok(None);
        }
        self.open_node(Some(Found::own(file.as_fd()).pin()?))
    }

    fn open_node(&self, node: Option<Pinned>) -> Result<Option<Stream>> {
        let Some(node) = node else { return Ok(None) };
        let Some(mut stream) = ask::open(&node, self)? else { return Ok(None) };
        if self.nonblocking {
            stream.set_nonblocking(true)?;
        }
        Ok(Some(stream.into()))
    }
}

impl Stream {
    /// Attaches this end to the plain file that a path leads to: until it is detached, [`Stream::open_attached`] of the path gives
    /// this end, in every process that may both read and write the file. The end stays open as long, also after this process has
    /// closed it. This process and those that it forks hold the attachment: it ends when the last of them has ended, when
    /// [`detach`] is called, and when the last name of the file is removed.
    ///
    /// # Errors
    /// `EBUSY` if a stream is attached to the file, or a program has locked it; `EPERM` for a user who is not its owner nor root;
    /// `EACCES` for an owner who may not write it; `EINVAL` for another node than a plain file, and for an end that is linked below a
    /// multiplexer; `EBADF` for an end that was closed; `ENOENT`, `ENOTDIR`, `ELOOP`, `ENAMETOOLONG` and others of open(2); `EMFILE`
    /// without eight to fourteen free descriptors.
    #[doc = include_str!("../../doc/attached.md")]
    #[doc(alias = "fattach")]
    #[doc(alias = "I_FATTACH")]
    pub fn attach_to(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        self.new_handle().attach_to(path).map_err(|error| named(path, error))
    }

    /// Opens the stream that is attached to the file that a path leads to; None if there is none. Waits as a blocking open(2) does.
    ///
    /// # Errors
    /// As [`AttachedOptions::open`].
    #[doc = include_str!("../../doc/attached.md")]
    pub fn open_attached(path: impl AsRef<Path>) -> Result<Option<Stream>> {
        AttachedOptions::new().open(path)
    }
}

impl Handle {
    fn attach_to(&self, path: &Path) -> Result<()> {
        self.end.check_open()?;
        if self.end.words().state.load(Ordering::Acquire) & LINKED != 0 {
            return Err(linked());
        }
        let node = find_plain(path)?;
        holder::attach(&self.end.endpoint, node::open_to_attach(&node)?)
    }
}

fn find_plain(path: &Path) -> Result<Pinned> {
    node::find(path)?.ok_or_else(|| fixed!(Inval, "a stream is attached to a plain file, and this is another node"))
}

/// Detaches the stream that is attached to the file that a path leads to. Processes that have opened it keep it; if there is none, the end
/// is closed.
///
/// # Errors
/// `EINVAL` if nothing is attached; `EPERM` for a user who is not the file's owner nor root; `EACCES` without a permission to open the
/// file; `EBUSY` if the process that holds the stream does not answer within 0.5 s; `EINTR` if a signal handler ran; `ENOENT`,
/// `ENOTDIR`, `ELOOP`, `ENAMETOOLONG` and others of open(2).
#[doc = include_str!("../../doc/attached.md")]
#[doc(alias = "fdetach")]
#[doc(alias = "I_FDETACH")]
pub fn detach(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    detach_node(path).map_err(|error| named(path, error))
}

fn detach_node(path: &Path) -> Result<()> {
    let node = find_plain(path)?;
    if !node::is_owned_by(&node, files::own_user())? {
        return Err(node::not_owner());
    }
    let looks = node::open_to_look(&node);
    let looks = looks.ok_or_else(|| fixed!(Acces, "the file can be opened neither for reading nor for writing"))?;
    if holder::detach_own(&looks)? || ask::detach(&node, &looks)? {
        return Ok(());
    }
    Err(fixed!(Inval, "no stream is attached"))
}

/// Whether a stream is attached to the file that a path leads to, as far as the locks on it say; true also for a file that another program
/// has locked whole. False for a file that this process may neither read nor write.
///
/// The file is opened and closed for this, which gives up record locks that this process has on it (fcntl(2), F_SETLK). Where the file is
/// open anyway, use [`is_attached_file`].
#[doc = include_str!("../../doc/attached.md")]
pub fn is_attached(path: impl AsRef<Path>) -> bool {
    let node = node::find(path.as_ref()).ok().flatten();
    node.and_then(|node| node::open_to_look(&node)).is_some_and(|file: OwnedFd| node::is_marked(file))
}

/// As [`is_attached`], of a file that is open here: one fcntl(2), so that each open(2) of a program can be followed by it.
#[doc = include_str!("../../doc/attached.md")]
pub fn is_attached_file(file: impl AsFd) -> bool {
    node::is_marked(file)
}

#[cfg(all(test, not(loom)))]
mod tests;
