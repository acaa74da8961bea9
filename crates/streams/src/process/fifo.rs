//! FIFOs: streams that unrelated processes find by a path.
//!
//! The path is a FIFO node of the file system; it gives the name and the permissions, and nothing is ever written to it.
//! Nothing else is kept anywhere: when the last process that had it open has ended, however it ended, nothing is left but
//! the node.
//!
//! The ends are many writers and many readers, and either may go and come again. Each end's doorbell is therefore a pipe,
//! which the kernel lets others open anew, and not a socket.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::descriptors::{self, Found};
use headwater_os::doorbell::Doorbell;
use headwater_os::files::{self, OFlags};
use headwater_os::futex;
use headwater_shm::probe;

use self::keeper::Keeper;
use self::node::{NAME, Node, link_of_memory, name_of_memory};
use super::attach::{no_stream, own_memory};
use super::end::{Access, End};
use super::region::Region;
use crate::error::{Errno, Error, Result};
use crate::head::stream::Stream;
use crate::options::Options;

pub(crate) mod keeper;
mod node;

/// Opening FIFOs.
#[derive(Debug)]
pub struct Fifo;

/// Which end writes, and which reads.
const WRITER: usize = 0;
const READER: usize = 1;

/// A sleeper that waits for the other end to be opened looks again by itself so often.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Fifo {
    /// Makes a FIFO node, which stays until it is removed.
    ///
    /// # Errors
    /// What mkfifo(3) reports.
    pub fn create(path: impl AsRef<Path>, mode: u32) -> Result<()> {
        Ok(files::make_fifo(path.as_ref(), mode)?)
    }

    /// Opens a FIFO for reading or writing, and waits until somebody has it open the other way.
    ///
    /// # Errors
    /// `EACCES` without the permission to read and to write, or if it is open in a process that this one may not look into;
    /// `EINVAL` for a path that is no FIFO; `EMFILE` without six free descriptors.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<Stream> {
        Fifo::open_with(path, access, false, &Options::default())
    }

    /// Opens a FIFO. The first to open it gives it its sizes and its policy; whom `nonblocking` lets not wait gets a
    /// non-blocking handle, and as a writer `ENXIO` if nobody reads.
    ///
    /// # Errors
    /// As [`Fifo::open`].
    pub fn open_with(path: impl AsRef<Path>, access: Access, nonblocking: bool, options: &Options) -> Result<Stream> {
        let path = path.as_ref();
        let side = match access {
            Access::Write => WRITER,
            Access::Read => READER,
            Access::Both => {
                return Err(Error::new(Errno::Inval, "a FIFO is opened for reading or for writing, not both"));
            }
        };
        let node = Node::open(path)?;
        probe::at();
        let mut stream = node.join(side, options)?;
        probe::at();
        let fixed = stream.end.region.fixed.clone();
        let (own, peer) = (&fixed.ends[side].0.opened, &fixed.ends[1 - side].0.opened);
        let seen = peer.load(Ordering::Acquire);
        if nonblocking && access == Access::Write && stream.end.doorbell().is_alone()? {
            return Err(Error::new(Errno::Nxio, format!("nobody reads {}", path.display())));
        }
        own.fetch_add(1, Ordering::AcqRel);
        probe::at();
        futex::wake(own, u32::MAX)?;
        probe::at();
        stream.end.anchor = Some(node.hold()?);
        probe::at();
        keep(&mut stream, node.file.as_fd());
        drop(node);
        probe::at();
        // Who waits for the other end is content with one that came and has gone again.
        while !nonblocking && stream.end.doorbell().is_alone()? && peer.load(Ordering::Acquire) == seen {
            if futex::wait(peer, seen, Some(LOOK_EVERY))? == futex::Slept::Interrupted {
                return Err(Error::new(Errno::Intr, "a signal handler ran"));
            }
        }
        probe::at();
        stream.set_nonblocking(nonblocking)?;
        Ok(stream)
    }
}

/// The end whose doorbell has this cookie, of descriptors of this process that were there before it could know of them.
pub(super) fn of_own_descriptors(cookie: u64) -> Result<Stream> {
    let region = Region::open(own_memory(NAME, cookie)?)?;
    let closed = || no_stream("the descriptors of the FIFO's pipes or of its node were closed (see set_inheritable)");
    let own = std::process::id();
    let side = region.side_of(cookie).ok_or_else(closed)?;
    let doorbell = doorbell(own, &region, side)?.ok_or_else(closed)?;
    let memory = descriptors::link(Found::own(region.as_fd()))?;
    let node = descriptors::own()?.into_iter().find_map(|found| {
        let file = descriptors::duplicate(found.number).ok()?;
        let status = files::status(&file).ok()?;
        (memory.as_os_str() == link_of_memory(&name_of_memory(status)).as_str()).then_some(file)
    });
    Ok(held(stream(region, side, doorbell), node.ok_or_else(closed)?))
}

/// The end that four descriptors from elsewhere are, in the order in which they are sent: its pipe, the other end's, the
/// memory, the node.
pub(super) fn of_parts([own, other, memory, node]: [OwnedFd; 4]) -> Result<Stream> {
    let region = Region::open(memory)?;
    let cookies = [descriptors::inode(&own)?, descriptors::inode(&other)?];
    let side = region.side_of(cookies[0]).filter(|side| region.side_of(cookies[1]) == Some(1 - side));
    let fits = side.filter(|_| [&own, &other, &node].into_iter().all(|fd| files::is_fifo(fd).unwrap_or(false)));
    let side = fits.ok_or_else(|| no_stream("the descriptors are not those of one FIFO"))?;
    Ok(held(stream(region, side, Doorbell::of_pipes(own, other)?), node))
}

fn held(mut stream: Stream, node: OwnedFd) -> Stream {
    keep(&mut stream, node.as_fd());
    stream.end.anchor = Some(node);
    stream
}

/// Lets others in, if the node is theirs to open too. Where that cannot be done they are refused.
fn keep(stream: &mut Stream, node: BorrowedFd<'_>) {
    stream.end.keeper = Keeper::start(&stream.end, node).ok().flatten().map(Arc::new);
}

fn stream(region: Region, side: usize, doorbell: Doorbell) -> Stream {
    let mut stream = Stream::over(End::new(region, side, doorbell));
    stream.end.access = if side == WRITER { Access::Write } else { Access::Read };
    stream
}

/// An end's doorbell, of the pipes that a process has open.
fn doorbell(pid: u32, region: &Region, side: usize) -> Result<Option<Doorbell>> {
    let open = |end: usize, flags: OFlags| {
        let wanted = format!("pipe:[{}]", region.fixed.header.0.cookies[end].load(Ordering::Relaxed));
        let found = descriptors::of(pid)
            .ok()?
            .into_iter()
            .find(|found| descriptors::link(*found).is_ok_and(|link| link.as_os_str() == wanted.as_str()))?;
        found.open(flags | OFlags::NONBLOCK).ok()
    };
    match (open(side, OFlags::RDONLY), open(1 - side, OFlags::RDWR)) {
        (Some(own), Some(other)) => Ok(Some(Doorbell::of_pipes(own, other)?)),
        _ => Ok(None),
    }
}
