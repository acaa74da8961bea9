//! FIFOs: streams that unrelated processes of one user find by a path.
//!
//! The path is a FIFO node of the file system; it gives the name and the permissions, and nothing is ever written to it.
//! The stream's memory carries the node's number in its own name, so whoever opens the path finds it among the
//! descriptors of those who have it open, in /proc. Nothing else is kept anywhere: when the last process that had it open
//! has ended, however it ended, nothing is left but the node.
//!
//! All who use a FIFO read and write its memory, whatever they have opened it for. So they need both permissions; with one
//! alone they would get the other.
//!
//! The ends are many writers and many readers, and either may go and come again. Each end's doorbell is therefore a pipe,
//! which the kernel lets others open anew, and not a socket.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use headwater_os::claim;
use headwater_os::descriptors::{self, Found};
use headwater_os::doorbell::Doorbell;
use headwater_os::files::{self, OFlags, Status};
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

fn name_of_memory(node: Status) -> String {
    format!("{NAME}-{}-{}", node.device, node.number)
}

/// As /proc shows a descriptor of it.
fn link_of_memory(name: &str) -> String {
    format!("/memfd:{name} (deleted)")
}

/// Tries to find a stream whose last holder goes at that very moment, and the time between two.
const TRIES: usize = 20;
const TRY_EVERY: Duration = Duration::from_millis(1);

/// The bytes of the node that those who have it open mark, each process so many: no file is as long.
const MARKS: u64 = 1 << 60;
const MARKS_EACH: u64 = 1 << 20;

/// The user who may open everything.
const ROOT: u32 = 0;

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
        let (own, peer) = (&stream.end.words().opened, &stream.end.peer_words().opened);
        let seen = peer.load(Ordering::Acquire);
        if nonblocking && access == Access::Write && stream.end.doorbell().is_alone()? {
            return Err(Error::new(Errno::Nxio, format!("nobody reads {}", path.display())));
        }
        own.fetch_add(1, Ordering::AcqRel);
        probe::at();
        futex::wake(own, u32::MAX)?;
        probe::at();
        let anchor = node.hold()?;
        drop(node);
        probe::at();
        // Who waits for the other end is content with one that came and has gone again.
        while !nonblocking && stream.end.doorbell().is_alone()? && peer.load(Ordering::Acquire) == seen {
            if futex::wait(peer, seen, Some(LOOK_EVERY))? == futex::Slept::Interrupted {
                return Err(Error::new(Errno::Intr, "a signal handler ran"));
            }
        }
        probe::at();
        stream.end.anchor = Some(anchor);
        stream.set_nonblocking(nonblocking)?;
        Ok(stream)
    }
}

/// The FIFO's node, locked against others who open it.
struct Node {
    /// Open for reading and writing.
    file: OwnedFd,
    status: Status,
    /// The name of the stream's memory.
    name: String,
}

impl Node {
    fn open(path: &Path) -> Result<Node> {
        let tell = |error: std::io::Error| {
            let errno = Error::from(std::io::Error::from(error.kind())).errno();
            let both =
                if errno == Errno::Acces { " (a FIFO's users need the permission to read and to write)" } else { "" };
            Error::new(errno, format!("{}: {error}{both}", path.display()))
        };
        let file = files::open_fifo(path).map_err(tell)?;
        let status = files::status(&file).map_err(tell)?;
        files::lock(&file).map_err(tell)?;
        Ok(Node { file, status, name: name_of_memory(status) })
    }

    /// The stream that others have open, or a new one.
    fn join(&self, side: usize, options: &Options) -> Result<Stream> {
        for _ in 0..TRIES {
            let link = link_of_memory(&self.name);
            for found in descriptors::anywhere(&link)? {
                if let Some(stream) = self.take_up(found, side)? {
                    return Ok(stream);
                }
            }
            if !claim::is_marked(&self.file, MARKS, MARKS)? {
                return self.make(side, options);
            }
            // Its holder goes at this very moment, or cannot be seen.
            std::thread::sleep(TRY_EVERY);
        }
        let why = "the FIFO is open in a process that this one may not look into (another user's, or a privileged one)";
        Err(Error::new(Errno::Acces, why))
    }

    /// The stream behind another process's descriptor. None if that process has gone meanwhile.
    fn take_up(&self, found: Found, side: usize) -> Result<Option<Stream>> {
        let Ok(memory) = found.open(OFlags::RDWR) else { return Ok(None) };
        probe::at();
        // Whoever likes can give memory such a name. A privileged process sees that of those too who may not open the node.
        let maker = files::status(&memory)?.owner;
        if ![files::own_user(), self.status.owner, ROOT].contains(&maker) {
            return Ok(None);
        }
        let region = Region::open(memory)?;
        let doorbell = doorbell(found.pid, &region, side)?;
        Ok(doorbell.map(|doorbell| stream(region, side, doorbell)))
    }

    /// What a handle holds of the node: it keeps the number from being given to another node, and tells others that the
    /// FIFO is in use. It is open for writing alone, so that those who write to the node otherwise wait for a reader.
    fn hold(&self) -> Result<OwnedFd> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let file = Found::own(self.file.as_fd()).open(OFlags::WRONLY | OFlags::NONBLOCK)?;
        // Each has a byte of its own.
        for _ in 0..MARKS_EACH {
            let count = COUNT.fetch_add(1, Ordering::Relaxed) % MARKS_EACH;
            if claim::mark(&file, MARKS + u64::from(std::process::id()) * MARKS_EACH + count, 1)? {
                return Ok(file);
            }
        }
        Err(Error::new(Errno::Nosr, format!("this process has the FIFO open {MARKS_EACH} times, which is the limit")))
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
