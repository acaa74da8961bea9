//! FIFOs: streams that unrelated processes find by a path.
//!
//! The path is a FIFO node of the file system; it gives the name and the permissions, and nothing is ever written to it.
//! There is no other state: when the last process that had it open has ended, however it ended, only the node is left.
//!
//! The ends are many writers and many readers, and either may go and come again. The doorbell is therefore a pipe, which the
//! kernel lets others open anew, and not a pair of sockets.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_os::descriptors::{self, Found, Pinned};
use headwater_os::doorbell::Doorbell;
use headwater_os::file_facts;
use headwater_os::files;
use headwater_os::futex;
use headwater_shm::probe;

use self::meet::{Budget, Joined, opened};
pub(crate) use self::node::NAME as MEMORY_NAME;
use self::node::{Node, name_of_memory, pipe_of_link};
use super::admission::Admission;
use super::attach::no_stream;
use crate::error::{Errno, Error, Result, corrupt, fixed};
use crate::head::handle::Handle;
use crate::options::Options;
use crate::process::end::Access;
use crate::process::endpoint::Endpoint;
use crate::process::region::Region;
use crate::stream::Stream;

mod ask;
pub(crate) mod broker;
mod marks;
mod meet;
mod node;
mod pipe;

/// Opening FIFOs.
///
/// ```
/// use headwater_streams::{Access, Fifo};
///
/// let directory = std::env::temp_dir().join(format!("headwater-fifo-{}", std::process::id()));
/// std::fs::create_dir(&directory)?;
/// let path = directory.join("queue");
/// Fifo::create(&path, 0o600)?;
/// let there = path.clone();
/// let writer = std::thread::spawn(move || Fifo::open(there, Access::Write)?.write(b"hello"));
/// let reader = Fifo::open(&path, Access::Read)?;
/// assert_eq!(reader.read(&mut [0; 16])?, 5);
/// assert_eq!(writer.join().unwrap()?, 5);
/// std::fs::remove_dir_all(directory)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Fifo;

/// How a FIFO is opened, beyond the direction: the options of open(2) that concern it, and the options of a new stream.
///
/// ```
/// use headwater_streams::{Access, Errno, FifoOptions};
///
/// let path = std::env::temp_dir().join(format!("headwater-fifo-options-{}", std::process::id()));
/// let options = FifoOptions::new().create(0o600).nonblocking(true);
/// let without_reader = options.open(&path, Access::Write).unwrap_err();
/// assert_eq!(without_reader.errno(), Errno::Nxio);
/// let reader = options.open(&path, Access::Read)?;
/// let writer = options.open(&path, Access::Write)?;
/// std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub struct FifoOptions {
    /// Makes the node with this mode if the path does not exist (O_CREAT); None: it must exist.
    pub create: Option<u32>,
    /// Calls, and the open itself, fail instead of waiting (O_NONBLOCK).
    pub nonblocking: bool,
    /// Sizes and policy of the stream, if this open is the first.
    pub stream: Options,
}

/// Which end writes, and which reads.
const WRITER: usize = 0;
const READER: usize = 1;

/// How long an open may be delayed by other processes before it has found their stream: by the answers of processes
/// that the kernel hides, and by streams that come and go; the second if it must not wait.
const FOR_ANSWERS: Duration = Duration::from_millis(500);
const WITHOUT_WAITING: Duration = Duration::from_millis(200);

/// How often a path is opened again that has become another FIFO between the opens of its two ends.
const REPLACED_MAX: u32 = 16;

/// A sleeper that waits for the other end to be opened looks again by itself at this interval.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Fifo {
    /// Makes a FIFO node, which stays until it is removed.
    ///
    /// # Errors
    /// What mkfifo(3) reports.
    #[doc = include_str!("../../doc/fifos.md")]
    pub fn create(path: impl AsRef<Path>, mode: u32) -> Result<()> {
        Ok(files::make_fifo(path.as_ref(), mode)?)
    }

    /// Opens a FIFO for reading or writing, and waits until a process has it open in the other direction.
    ///
    /// # Errors
    /// `EACCES` without the permission to read and to write, or if it is open in a process that this one may not look into and
    /// that lets no other process in; `EINVAL` for a path that is no FIFO; `EINTR` if a signal handler ran; `EMFILE`
    /// without twelve free descriptors; what open(2) reports of the path.
    #[doc = include_str!("../../doc/fifos.md")]
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<Stream> {
        FifoOptions::new().open(path, access)
    }
}

impl FifoOptions {
    /// Those of [`Fifo::open`]: the node exists, the open waits for a peer, the stream has the usual sizes.
    #[doc = include_str!("../../doc/fifos.md")]
    pub const fn new() -> FifoOptions {
        FifoOptions { create: None, nonblocking: false, stream: Options::new() }
    }

    /// Creates the node with this mode, less the process's umask, if the path does not exist (O_CREAT).
    #[must_use]
    #[doc(alias = "O_CREAT")]
    #[doc = include_str!("../../doc/fifos.md")]
    pub const fn create(self, mode: u32) -> FifoOptions {
        FifoOptions { create: Some(mode), ..self }
    }

    /// Whether the open does not wait for a peer, and calls fail with `EAGAIN` instead of waiting (O_NONBLOCK).
    #[must_use]
    #[doc(alias = "O_NONBLOCK")]
    #[doc = include_str!("../../doc/fifos.md")]
    pub const fn nonblocking(self, nonblocking: bool) -> FifoOptions {
        FifoOptions { nonblocking, ..self }
    }

    /// Sets the sizes and the policy of the stream, if this open is the first.
    #[must_use]
    #[doc = include_str!("../../doc/fifos.md")]
    pub const fn stream(self, stream: Options) -> FifoOptions {
        FifoOptions { stream, ..self }
    }

    /// Opens a FIFO for reading or writing. The first open sets its sizes and its policy. A non-blocking open waits
    /// only for the answer of processes that have the FIFO open and whose descriptors the kernel does not show to this
    /// one. All delays by other processes are limited to 0.2 s together, and to 0.5 s if the open may wait; a look at
    /// the open descriptors that has begun by then is the last.
    ///
    /// # Errors
    /// `ENXIO` for a non-blocking writer if there is no reader; else as [`Fifo::open`].
    #[doc = include_str!("../../doc/fifos.md")]
    pub fn open(&self, path: impl AsRef<Path>, access: Access) -> Result<Stream> {
        let path = path.as_ref();
        match self.create.map(|mode| Fifo::create(path, mode)) {
            Some(Err(error)) if error.errno() != Errno::Exist => return Err(error),
            _ => {}
        }
        self.open_node(path, access)
    }

    /// Opens a FIFO for reading and writing (O_RDWR): its reading end, and its writing end. Neither waits for another process to open the
    /// FIFO, since either is the other's peer. A reader never sees the end as long as the writing end is open, and a writer has a reader as
    /// long as the reading end is.
    ///
    /// # Errors
    /// As [`Fifo::open`].
    #[doc(alias = "O_RDWR")]
    #[doc = include_str!("../../doc/fifos.md")]
    pub fn open_both(&self, path: impl AsRef<Path>) -> Result<(Stream, Stream)> {
        let path = path.as_ref();
        let at_once = FifoOptions { nonblocking: true, ..*self };
        for _ in 0..REPLACED_MAX {
            let (reader, writer) = (at_once.open(path, Access::Read)?, at_once.open(path, Access::Write)?);
            if identity(&reader)? == identity(&writer)? {
                reader.set_nonblocking(self.nonblocking)?;
                writer.set_nonblocking(self.nonblocking)?;
                return Ok((reader, writer));
            }
        }
        Err(Error::new(Errno::Again, format!("{} is replaced again and again", path.display())))
    }

    fn open_node(&self, path: &Path, access: Access) -> Result<Stream> {
        let FifoOptions { nonblocking, stream: options, .. } = self;
        let nonblocking = *nonblocking;
        let side = match access {
            Access::Write => WRITER,
            Access::Read => READER,
            Access::Both => {
                return Err(fixed!(
                    Inval,
                    "a stream of a FIFO reads or writes (FifoOptions::open_both gives one of each)"
                ));
            }
        };
        let mut budget = Budget::of(if nonblocking { WITHOUT_WAITING } else { FOR_ANSWERS });
        let node = Node::open(path)?;
        probe::at();
        let Joined { mut stream, seen, .. } = node.join(side, options, &mut budget)?;
        probe::at();
        // A process that opens the other end either sees that this one is there, or is counted after `seen` was read.
        // Both count themselves before they continue, so neither can leave unseen by the other: a peer that waits for
        // us is seen here, and one that is not seen will be counted.
        let is_met = !stream.end.doorbell().is_alone()?;
        if nonblocking && access == Access::Write && !is_met {
            return Err(Error::new(Errno::Nxio, format!("nobody reads {}", path.display())));
        }
        probe::at();
        let region = stream.end.region.clone();
        let (own, peer) = (opened(&region, side), opened(&region, 1 - side));
        own.fetch_add(1, Ordering::AcqRel);
        probe::at();
        futex::wake(own, u32::MAX)?;
        drop(node);
        probe::at();
        while !nonblocking && !is_met && peer.load(Ordering::Acquire) == seen {
            if futex::wait(peer, seen, Some(LOOK_EVERY))? == futex::Slept::Interrupted {
                return Err(fixed!(Intr, "a signal handler ran"));
            }
        }
        probe::at();
        match stream.set_nonblocking(nonblocking) {
            // Another handle is in the way, whose process may be stopped. The first call that is refused does the rest.
            Err(error) if error.errno() == Errno::Again => {}
            done => done?,
        }
        Ok(stream.into())
    }
}

/// The number of an end's node among all.
fn identity(end: &Stream) -> Result<Option<[u64; 2]>> {
    let status = end.node().map(files::status).transpose()?;
    Ok(status.map(|status| [status.device, status.number]))
}

/// The end behind a descriptor of its pipe that this process has inherited.
pub(super) fn of_own_descriptors(pipe: OwnedFd, admission: Admission<'_>) -> Result<Handle> {
    let inode = descriptors::inode(&pipe)?;
    let own = descriptors::own()?;
    let copy = |found: &Found| descriptors::duplicate(found.number).ok();
    let nodes: Vec<(OwnedFd, String)> = own
        .iter()
        .filter_map(|found| {
            let file = copy(found)?;
            let status = files::status(&file).ok().filter(|_| files::is_fifo(&file).unwrap_or(false))?;
            Some((file, name_of_memory(status)))
        })
        .collect();
    // One of them is the node of the memory that has the pipe.
    let found = own.iter().find_map(|found| {
        let link = descriptors::link(*found).ok()?;
        let node = nodes.iter().position(|(_, name)| pipe_of_link(&link, name) == Some(inode))?;
        Some((copy(found)?, node))
    });
    let closed =
        "the descriptor is no stream, or that of its memory or of the FIFO's node was closed (see set_inheritable)";
    let (memory, node) = found.ok_or_else(|| no_stream(closed))?;
    let node = nodes.into_iter().nth(node).expect("it was found there").0;
    from_parts([pipe, memory, node], admission)
}

/// The end that three descriptors from elsewhere are, in the order in which they are sent: an end of its pipe, the memory, the
/// node.
pub(super) fn from_parts([pipe, memory, node]: [OwnedFd; 3], admission: Admission<'_>) -> Result<Handle> {
    let region = Region::open(memory)?;
    admission.check(&region)?;
    refuse_driver(&region)?;
    let memory = descriptors::link(Found::own(region.as_fd()))?;
    // A received file is opened anew only after a check of its kind.
    let pinned = Pinned::from_fd(pipe);
    let inode = pipe_of_link(&memory, &name_of_memory(files::status(&node)?));
    let fits = inode.map_or(Ok(false), |inode| pinned.is_shared_pipe(inode))?
        && files::is_fifo(&node)?
        // As `Node::open_marked` opens it. A process that may not open the node can have another descriptor of it (O_PATH), and a broker
        // of this process would open it.
        && file_facts::is_write_only(&node)?;
    if !fits {
        return Err(no_stream("the descriptors are not those of one FIFO"));
    }
    let doorbell = Doorbell::from_pipe(pinned.into())?;
    let side = if doorbell.is_writer() { WRITER } else { READER };
    Ok(held(stream(region, side, doorbell), node))
}

/// A FIFO ends in no driver, whatever its memory says, which every user of the FIFO can write.
fn refuse_driver(region: &Region) -> Result<()> {
    if region.driver.is_some() { Err(corrupt!("a FIFO with a driver")) } else { Ok(()) }
}

fn held(stream: Handle, node: OwnedFd) -> Handle {
    stream.end.endpoint.keep(node.as_fd());
    stream.end.endpoint.hold_node(node);
    stream
}

fn stream(region: Region, side: usize, doorbell: Doorbell) -> Handle {
    let access = if side == WRITER { Access::Write } else { Access::Read };
    Handle::of(Endpoint::new(region, side, doorbell, access))
}
