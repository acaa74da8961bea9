//! A FIFO's node in the file system: opening it, and a handle's descriptor of it.
//!
//! All users of a FIFO read and write its memory, in whichever direction they have opened it. So they need both
//! permissions; with one alone they would get the other.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use headwater_os::descriptors::{self, Pinned};
use headwater_os::files::{self, OFlags, Status};

use super::marks;
use crate::error::{Errno, Error, Result};
use crate::process::region::Region;

/// The prefix of the name of a FIFO's memory.
pub(crate) const NAME: &str = "headwater-fifo";

/// The beginning of the names of the memories of a node's streams.
pub(super) fn name_of_memory(node: Status) -> String {
    format!("{NAME}-{}-{}", node.device, node.number)
}

/// The name of the memory of a stream with that pipe. It says which pipe, because the users of the stream can change what is in the
/// memory, and not its name.
pub(super) fn name_with_pipe(name: &str, pipe: u64) -> String {
    format!("{name}-{pipe}")
}

/// The inode of the pipe of the stream whose memory has that name. None for the memory of another node, or of something else.
pub(super) fn pipe_of(memory: &str, name: &str) -> Option<u64> {
    memory.strip_prefix(name)?.strip_prefix('-')?.parse().ok()
}

/// As [`pipe_of`], by the link of a descriptor of the memory.
pub(super) fn pipe_of_link(link: &Path, name: &str) -> Option<u64> {
    pipe_of(descriptors::name_in(link.to_str()?)?, name)
}

/// Permissions of owner, group and others.
const CLASSES: [u32; 3] = [6, 3, 0];
const READ: u32 = 4;
const WRITE: u32 = 2;

/// The FIFO's node, which this process may read and write.
pub(super) struct Node {
    pub pinned: Pinned,
    /// Open for reading alone: a process that checks the node's locks must not count as a writer.
    pub file: OwnedFd,
    pub status: Status,
    /// The beginning of the name of the stream's memory.
    pub name: String,
    /// The node has no mark, but a process has it open for writing, which may have been kept from marking it.
    pub is_unmarked: bool,
}

impl Node {
    pub fn open(path: &Path) -> Result<Node> {
        Node::open_unnamed(path).map_err(|error| {
            let error = Error::from(error);
            let both = if error.errno() == Errno::Acces {
                " (a FIFO's users need the permission to read and to write)"
            } else {
                ""
            };
            Error::new(error.errno(), format!("{}: {error}{both}", path.display()))
        })
    }

    fn open_unnamed(path: &Path) -> io::Result<Node> {
        let pinned = files::find_fifo(path)?;
        let file = pinned.open(OFlags::RDONLY | OFlags::NONBLOCK)?;
        let status = files::status(&file)?;
        // Checked before this process is a writer itself.
        let is_unmarked = !marks::are_locked(&file)? && files::has_writers(&file)?;
        // Closed again: until it is marked, other processes would look for its stream.
        drop(reopen(&pinned)?);
        Ok(Node { pinned, file, status, name: name_of_memory(status), is_unmarked })
    }

    /// A handle's descriptor of the node: it keeps the number from being given to another node, and shows other
    /// processes that the FIFO is in use, unless other locks are in the way; returns whether it does. It is open for
    /// writing alone, so that programs that write to the node otherwise wait for a reader.
    pub fn open_marked(&self, region: &Region) -> Result<(OwnedFd, bool)> {
        let file = reopen(&self.pinned)?;
        let is_marked = marks::set(&file, region)?;
        Ok((file, is_marked))
    }

    /// Whether a mark proves that its process may read the node too: not if the mode lets a class of users only write.
    pub fn trusts_marks(&self) -> bool {
        CLASSES.into_iter().all(|class| {
            let permissions = self.status.permissions >> class;
            permissions & WRITE == 0 || permissions & READ != 0
        })
    }
}

fn reopen(node: &Pinned) -> io::Result<OwnedFd> {
    node.open(OFlags::WRONLY | OFlags::NONBLOCK)
}
