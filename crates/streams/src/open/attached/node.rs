//! The node of the file system that stands for an attached stream, and the locks on it (`F_OFD_SETLK`) by which every process that may
//! open it sees that: far behind the end of the file, and given up by the kernel with the last process that holds the attachment.
//!
//! - Byte [`ATTACHED`] is locked for writing, which makes the attachment the only one.
//! - Another byte, at [`TOKENS`], names the socket at which the holder lets processes in. It is random, so no other process has
//!   taken the name before.
//! - A process that opens the name proves to the holder that it may read and write the node: it locks the two bytes of a number
//!   that the holder has told it alone, one for reading and one for writing, which the kernel grants with these rights only.
//!
//! A user who may read or write the node can make such locks as well. So the holder counts only if the kernel says of its socket that a
//! process of the node's owner, or of root, listens there: these alone may attach a stream.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use headwater_os::abstract_socket::{self, Listener};
use headwater_os::descriptors::Pinned;
use headwater_os::files::{self, OFlags};
use headwater_os::ofd_lock::{self, Marked, Right};
use headwater_os::random;
use headwater_shm::probe;

use crate::error::{Errno, Error, Result, fixed};

/// The locked bytes. FIFOs, which are no plain files, have locks at some of the same places.
const ATTACHED: u64 = 1 << 59;
const TOKENS: u64 = 1 << 60;
const TOKEN_BITS: u32 = 56;
const TO_READ: u64 = 1 << 61;
const TO_WRITE: u64 = TO_READ + (1 << 60);
const CHALLENGE_BITS: u32 = 48;

/// The largest number of tokens that an open looks at. All but one are of strangers.
const LOOKS: usize = 64;
/// How often a name for a socket is tried.
const NAMES: usize = 8;

/// The user that may open and attach everything.
const ROOT: u32 = 0;

/// What the locks on a node say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing is attached.
    Plain,
    /// A process has marked the node, and these are the tokens that processes have put there.
    Marked(Vec<u64>),
}

/// Finds the plain file that a path leads to. None for a node of another kind.
pub(super) fn find(path: &Path) -> std::io::Result<Option<Pinned>> {
    let pinned = files::find(path)?;
    Ok(files::is_plain(&pinned)?.then_some(pinned))
}

/// An error of a path.
pub(super) fn named(path: &Path, error: impl Into<Error>) -> Error {
    let error = error.into();
    Error::new(error.errno(), format!("{}: {error}", path.display()))
}

/// The number of a node among all.
pub(super) fn identity(node: impl AsFd) -> std::io::Result<[u64; 2]> {
    files::status(node).map(|status| [status.device, status.number])
}

/// Whether a user may attach a stream to the node, and detach it.
pub(super) fn is_owned_by(node: impl AsFd, user: u32) -> std::io::Result<bool> {
    Ok(user == ROOT || user == files::status(node)?.owner)
}

/// The error for any other user.
#[cold]
pub(super) fn not_owner() -> Error {
    fixed!(Perm, "only the owner of the file, and root, may attach a stream to it or detach one")
}

/// Opens it to be marked.
///
/// Errors: `EPERM` for a user who is not its owner nor root; `EACCES` for an owner who may not write it; what open(2) reports.
pub(super) fn open_to_attach(node: &Pinned) -> Result<OwnedFd> {
    if !is_owned_by(node, files::own_user())? {
        return Err(not_owner());
    }
    Ok(node.open(OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?)
}

/// Opens it to look at its locks. None without a permission for it.
pub(super) fn open_to_look(node: &Pinned) -> Option<OwnedFd> {
    let open = |access| node.open(access | OFlags::NONBLOCK | OFlags::NOCTTY).ok();
    open(OFlags::RDONLY).or_else(|| open(OFlags::WRONLY))
}

/// Opens it to prove both permissions. None without one of them.
pub(super) fn open_both(node: &Pinned) -> Option<OwnedFd> {
    node.open(OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY).ok()
}

/// Whether a process has marked a node, or locked it whole. One fcntl(2).
pub(super) fn is_marked(file: impl AsFd) -> bool {
    ofd_lock::marked(file, ATTACHED, 1).is_ok_and(|marked| marked.is_some())
}

/// Looks at the locks.
pub(super) fn look(file: impl AsFd) -> Result<Look> {
    // A lock of more than this byte is of a program that locks the file for itself.
    if ofd_lock::marked(&file, ATTACHED, 1)? != Some(Marked { start: ATTACHED, len: 1 }) {
        return Ok(Look::Plain);
    }
    let mut tokens = Vec::new();
    let mut ranges = vec![(TOKENS, TOKENS + (1 << TOKEN_BITS))];
    for _ in 0..LOOKS {
        let Some((start, end)) = ranges.pop() else { break };
        let Some(Marked { start: at, len }) = ofd_lock::marked(&file, start, end - start)? else { continue };
        if len == 1 {
            tokens.push(at - TOKENS);
        }
        let rest = [(start, at), (at.saturating_add(len), end)];
        ranges.extend(rest.into_iter().filter(|(start, end)| start < end));
    }
    Ok(Look::Marked(tokens))
}

/// The name of the holder's socket.
pub(super) fn socket_name([device, number]: [u64; 2], token: u64) -> String {
    format!("headwater-attached-{device:x}-{number:x}-{token:x}")
}

/// An attachment's marks, until they are given up or the last copy of the file is closed.
#[derive(Debug)]
pub(super) struct Marks {
    /// Open for writing.
    pub node: OwnedFd,
    /// What names the socket.
    pub token: u64,
}

impl Marks {
    /// Marks a node, after the socket was made: a process that sees the marks finds it.
    ///
    /// Errors: `EBUSY` if it is marked, or other locks are in the way.
    pub fn set(node: OwnedFd) -> Result<(Marks, Listener)> {
        let identity = identity(&node)?;
        let mut tries = NAMES;
        let (token, listener) = loop {
            let token = random::number()? >> (u64::BITS - TOKEN_BITS);
            match Listener::bind(&socket_name(identity, token)) {
                Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && tries > 0 => tries -= 1,
                listener => break (token, listener?),
            }
        };
        probe::at();
        if !ofd_lock::mark(&node, ATTACHED, 1)? {
            return Err(fixed!(Busy, "a stream is attached to the file, or a program has locked the file"));
        }
        probe::at();
        if !ofd_lock::mark(&node, TOKENS + token, 1)? {
            return Err(fixed!(Busy, "a program has locked the file"));
        }
        probe::at();
        Ok((Marks { node, token }, listener))
    }

    /// Takes the marks away, for all processes that have a copy of the file.
    pub fn give_up(&self) {
        // In this order: a process that sees the first mark alone waits for the other.
        let _ = ofd_lock::unmark(&self.node, ATTACHED, 1);
        let _ = ofd_lock::unmark(&self.node, TOKENS + self.token, 1);
    }
}

/// A number that a process which opens the name is told, and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Challenge(u64);

/// Its length as it is sent.
pub(super) const CHALLENGE_LEN: usize = 8;

impl Challenge {
    pub fn new() -> Result<Challenge> {
        Ok(Challenge(random::number()? >> (u64::BITS - CHALLENGE_BITS)))
    }

    pub fn bytes(self) -> [u8; CHALLENGE_LEN] {
        self.0.to_le_bytes()
    }

    pub fn of(bytes: [u8; CHALLENGE_LEN]) -> Challenge {
        Challenge(u64::from_le_bytes(bytes) & ((1 << CHALLENGE_BITS) - 1))
    }

    /// Proves that `node` is open for reading and writing, until it is closed. False if other locks are in the way.
    pub fn answer(self, node: impl AsFd) -> Result<bool> {
        Ok(ofd_lock::mark_for_reading(&node, TO_READ + self.0)? && ofd_lock::mark(&node, TO_WRITE + self.0, 1)?)
    }

    /// Whether the process that was told the number has proved that.
    pub fn is_answered(self, node: impl AsFd) -> Result<bool> {
        Ok(ofd_lock::proved(&node, TO_READ + self.0)? == Some(Right::Read)
            && ofd_lock::proved(&node, TO_WRITE + self.0)? == Some(Right::Write))
    }
}

/// Whether a process that may attach streams to the node listens at the other side of a connection.
pub(super) fn is_holder(socket: impl AsFd, node: impl AsFd) -> Result<bool> {
    Ok(is_owned_by(node, abstract_socket::peer(socket)?.user)?)
}

/// The error of a holder's answer that is none.
pub(super) fn strange() -> Error {
    Error::new(
        Errno::Proto,
        "the process that holds the attached stream has answered with something else than a stream",
    )
}

#[cfg(all(test, not(loom)))]
mod tests;
