//! FIFOs: streams that unrelated processes of one user find by a path.
//!
//! The path is a FIFO node of the file system; it gives the name and the permissions, and nothing is ever written to it.
//! The stream's memory carries the node's number in its own name, so whoever opens the path finds it among the
//! descriptors of those who have it open, in /proc. Nothing else is kept anywhere: when the last process that had it open
//! has ended, however it ended, nothing is left but the node.
//!
//! The ends are many writers and many readers, and either may go and come again. Each end's doorbell is therefore a pipe,
//! which the kernel lets others open anew, and not a socket.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::descriptors::{self, Found};
use headwater_os::doorbell::Doorbell;
use headwater_os::files::{self, OFlags};
use headwater_os::futex;
use headwater_shm::probe;

use super::attach::{no_stream, own_memory};
use super::end::{Access, End};
use super::region::Region;
use crate::error::{Errno, Error, Result};
use crate::head::stream::Stream;
use crate::options::Options;

/// Opening FIFOs.
#[derive(Debug)]
pub struct Fifo;

/// Which end writes, and which reads.
const WRITER: usize = 0;
const READER: usize = 1;

/// How the name of a FIFO's memory begins.
const NAME: &str = "headwater-fifo";

fn name_of_memory(device: u64, number: u64) -> String {
    format!("{NAME}-{device}-{number}")
}

/// As /proc shows a descriptor of it.
fn link_of_memory(name: &str) -> String {
    format!("/memfd:{name} (deleted)")
}

/// Tries to find a stream whose last holder goes at that very moment.
const TRIES: usize = 20;

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
    /// `EACCES` without the permission to read (for both, to find the others) or to write; `EINVAL` for a path that is no
    /// FIFO; `EMFILE` without five free descriptors.
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
        let node = Node::open(path, access)?;
        probe::at();
        let mut stream = node.join(side, options)?;
        probe::at();
        let (own, peer) = (&stream.end.words().opened, &stream.end.peer_words().opened);
        let seen = peer.load(Ordering::Acquire);
        if nonblocking && access == Access::Write && stream.end.doorbell().is_alone()? {
            return Err(Error::new(Errno::Nxio, format!("nobody reads {}", path.display())));
        }
        own.fetch_add(1, Ordering::AcqRel);
        probe::at();
        futex::wake(own, u32::MAX)?;
        probe::at();
        drop(node.lock);
        probe::at();
        // Who waits for the other end is content with one that came and has gone again.
        while !nonblocking && stream.end.doorbell().is_alone()? && peer.load(Ordering::Acquire) == seen {
            if futex::wait(peer, seen, Some(LOOK_EVERY))? == futex::Slept::Interrupted {
                return Err(Error::new(Errno::Intr, "a signal handler ran"));
            }
        }
        probe::at();
        stream.end.anchor = Some(node.anchor);
        stream.set_nonblocking(nonblocking)?;
        Ok(stream)
    }
}

/// The FIFO's node, locked against others who open it.
struct Node {
    /// Keeps the number from being given to another node.
    anchor: OwnedFd,
    lock: OwnedFd,
    /// The name of the stream's memory.
    name: String,
}

impl Node {
    fn open(path: &Path, access: Access) -> Result<Node> {
        let tell = |error: std::io::Error| {
            let errno = Error::from(std::io::Error::from(error.kind())).errno();
            Error::new(errno, format!("{}: {error}", path.display()))
        };
        let (anchor, device, number) = files::anchor_of_fifo(path).map_err(tell)?;
        files::check_access(path, access == Access::Write).map_err(tell)?;
        let lock = files::lock(path).map_err(tell)?;
        Ok(Node { anchor, lock, name: name_of_memory(device, number) })
    }

    /// The stream that others have open, or a new one.
    fn join(&self, side: usize, options: &Options) -> Result<Stream> {
        for _ in 0..TRIES {
            let Some(found) = descriptors::find_anywhere(&link_of_memory(&self.name))? else {
                return self.make(side, options);
            };
            if let Some(stream) = take_up(found, side)? {
                return Ok(stream);
            }
        }
        Err(Error::new(Errno::Io, "the FIFO's other users come and go too fast to be found"))
    }

    fn make(&self, side: usize, options: &Options) -> Result<Stream> {
        let pipes = [files::pipe()?, files::pipe()?];
        let cookies = [descriptors::inode(&pipes[WRITER].0)?, descriptors::inode(&pipes[READER].0)?];
        let region = Region::create(&self.name, options, cookies)?;
        probe::at();
        let doorbell = doorbell(std::process::id(), &region, side)?;
        let doorbell = doorbell.ok_or_else(|| Error::new(Errno::Io, "our own pipes are not to be found in /proc"))?;
        Ok(stream(region, side, doorbell))
    }
}

/// The stream behind another process's descriptor. None if that process has gone meanwhile.
fn take_up(found: Found, side: usize) -> Result<Option<Stream>> {
    let Ok(memory) = found.open(OFlags::RDWR) else { return Ok(None) };
    probe::at();
    let region = Region::open(memory)?;
    let doorbell = doorbell(found.pid, &region, side)?;
    Ok(doorbell.map(|doorbell| stream(region, side, doorbell)))
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
        let (device, number) = files::identity(&file).ok()?;
        (memory.as_os_str() == link_of_memory(&name_of_memory(device, number)).as_str()).then_some(file)
    });
    let mut stream = stream(region, side, doorbell);
    stream.end.anchor = Some(node.ok_or_else(closed)?);
    Ok(stream)
}

/// The end that four descriptors from elsewhere are, in the order in which they are sent: its pipe, the other end's, the
/// memory, the node.
pub(super) fn of_parts([own, other, memory, node]: [OwnedFd; 4]) -> Result<Stream> {
    let region = Region::open(memory)?;
    let cookies = [descriptors::inode(&own)?, descriptors::inode(&other)?];
    let side = region.side_of(cookies[0]).filter(|side| region.side_of(cookies[1]) == Some(1 - side));
    let fits = side.filter(|_| [&own, &other, &node].into_iter().all(|fd| files::is_fifo(fd).unwrap_or(false)));
    let side = fits.ok_or_else(|| no_stream("the descriptors are not those of one FIFO"))?;
    let mut stream = stream(region, side, Doorbell::of_pipes(own, other)?);
    stream.end.anchor = Some(node);
    Ok(stream)
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
