//! A FIFO's node in the file system, and the search for those who have it open.
//!
//! The stream's memory carries the node's number in its own name, so whoever opens the path finds it among the descriptors
//! of those who have it open, in /proc. Who has the node open also holds a lock on it, which shows to those who cannot see
//! his descriptors that he is there.
//!
//! All who use a FIFO read and write its memory, whatever they have opened it for. So they need both permissions; with one
//! alone they would get the other.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use headwater_os::claim;
use headwater_os::descriptors::{self, Found};
use headwater_os::files::{self, OFlags, Status};
use headwater_shm::probe;

use super::{READER, WRITER, doorbell, keeper, stream};
use crate::error::{Errno, Error, Result};
use crate::head::stream::Stream;
use crate::options::Options;
use crate::process::region::Region;

/// How the name of a FIFO's memory begins.
pub(super) const NAME: &str = "headwater-fifo";

pub(super) fn name_of_memory(node: Status) -> String {
    format!("{NAME}-{}-{}", node.device, node.number)
}

/// As /proc shows a descriptor of it.
pub(super) fn link_of_memory(name: &str) -> String {
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

/// The FIFO's node, locked against others who open it.
pub(super) struct Node {
    /// Open for reading and writing.
    pub file: OwnedFd,
    status: Status,
    /// The name of the stream's memory.
    pub name: String,
}

impl Node {
    pub fn open(path: &Path) -> Result<Node> {
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
    pub fn join(&self, side: usize, options: &Options) -> Result<Stream> {
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
            // Its holder cannot be seen, or goes at this very moment.
            if let Some(stream) = keeper::ask(self, side)? {
                return Ok(stream);
            }
            std::thread::sleep(TRY_EVERY);
        }
        let why = "the FIFO is open in a process that this one may not look into (another user's, or a privileged one), and \
                   that lets nobody in";
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
    pub fn hold(&self) -> Result<OwnedFd> {
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
