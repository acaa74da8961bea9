//! Looking at the streams of all processes from outside: what `headwater streams ls` and `top` show.
//!
//! A process sees the streams of the processes whose descriptors the kernel shows to it in /proc: its own user's, and as root
//! those of all. Looking changes nothing: it opens a stream's memory for reading alone, takes no lock, sends no notification,
//! and opens no end, so the users of the stream see each hang-up as without it.
//!
//! The memory is written by other processes while it is read. So one number may be older than the next, and every number is
//! what some process has written there: it is a report, not a proof. No contents can make a call fail, loop or crash.
//!
//! ```
//! use headwater_streams::inspect;
//!
//! let (near, far) = headwater_streams::pipe()?;
//! near.write(b"hello")?;
//! far.push("nullmod")?;
//!
//! let mine = |snapshot: &&inspect::Snapshot| {
//!     snapshot.state().is_some_and(|state| state.directions[0].written() == 5)
//!         && snapshot.processes.iter().any(|process| process.pid == std::process::id())
//! };
//! let all = inspect::streams()?;
//! let snapshot = all.iter().find(mine).expect("it is open here");
//! assert_eq!(snapshot.kind, inspect::StreamKind::Pipe);
//! let state = snapshot.state().expect("it is of this version");
//! assert_eq!(state.directions[0].queued(), 5);
//! assert_eq!(state.ends[1].modules[0].name, "nullmod");
//! # Ok::<(), headwater_streams::Error>(())
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use headwater_os::socket_cookies;

use self::copy::Source;
use self::decode::{Cookies, Decoded, decode};
use crate::error::Result;
use crate::open::census::{Census, SeenFile, SeenMemory, SeenProcess};

mod copy;
mod decode;
mod state;
#[cfg(test)]
mod tests;

pub use state::{Band, Direction, Driver, End, Lock, Member, Module, Queue, Side, State};

/// A stream, as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The inode of its memory, which names the stream as long as a process has it.
    pub id: u64,
    /// What it is.
    pub kind: StreamKind,
    /// Length of its memory, bytes.
    pub memory: u64,
    /// Bytes of the memory that take up pages.
    pub resident: u64,
    /// The user who has made it.
    pub owner: u32,
    /// What its memory holds.
    pub content: Content,
    /// The processes that have a descriptor of the memory, by number.
    pub processes: Vec<Process>,
}

/// What a stream is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamKind {
    /// A pipe.
    Pipe,
    /// A FIFO.
    Fifo {
        /// Device and inode of its node.
        node: [u64; 2],
        /// The node's path, as one of the processes that have it open sees it. None if it is not known. A node that was removed
        /// shows with ` (deleted)`.
        path: Option<PathBuf>,
    },
    /// A stream that ends in a driver: its name, and its minor number.
    Device {
        /// The driver's name.
        driver: String,
        /// The minor number.
        minor: u32,
    },
}

/// What a stream's memory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// A stream of this version.
    State(Box<State>),
    /// A stream of another version of the library, whose layout this one does not know.
    OtherVersion(u32),
    /// Something else under the name of a stream, or a stream whose header contradicts itself; and why.
    Unreadable(&'static str),
}

/// A process that has a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its effective user.
    pub user: u32,
    /// The name of its program, at most 15 bytes (comm).
    pub command: String,
    /// Its arguments, the program's name first. Empty if it has none.
    pub arguments: Vec<String>,
    /// The letter of its state, as ps(1) has it: R runs, S and D sleep, T is stopped, Z has ended.
    pub state: char,
    /// Its descriptors that belong to the stream, by number.
    pub descriptors: Vec<Descriptor>,
}

/// A descriptor that belongs to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Descriptor {
    /// Its number in the process.
    pub number: u32,
    /// What it is of the stream.
    pub role: Role,
}

/// What a descriptor is of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The memory.
    Memory,
    /// An end, 0 or 1: as long as a process has one, the other end is not hung up.
    End(usize),
    /// A FIFO's node.
    Node,
    /// The file in which a device's minor number is locked.
    MinorNumber,
    /// By which processes see that the last one has closed a device that its driver pairs with another.
    Witness,
    /// By which the processes of a device share its driver's files.
    SharedFiles,
}

impl Snapshot {
    /// The state, of a stream of this version.
    #[doc = include_str!("../doc/inspect.md")]
    pub fn state(&self) -> Option<&State> {
        match &self.content {
            Content::State(state) => Some(state),
            _ => None,
        }
    }

    /// The processes that have a descriptor of an end. For a device, those with the user's end.
    #[doc = include_str!("../doc/inspect.md")]
    pub fn holders(&self, end: usize) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(move |process| process.has(Role::End(end)))
    }
}

impl Process {
    /// Whether it has a descriptor of that role.
    #[doc = include_str!("../doc/inspect.md")]
    pub fn has(&self, role: Role) -> bool {
        self.descriptors.iter().any(|descriptor| descriptor.role == role)
    }
}

/// All streams of the processes that this one may look at, by the inode of their memory.
///
/// A stream whose last process ends meanwhile is left out. Where the kernel does not tell the cookies of sockets (it was built
/// without unix_diag, or the process lives in another network namespace), no descriptor of a pipe or device shows as an
/// end.
///
/// # Errors
/// What reading /proc reports; `EMFILE` without two free descriptors.
#[doc = include_str!("../doc/inspect.md")]
pub fn streams() -> Result<Vec<Snapshot>> {
    let census = Census::take()?;
    if census.memories.is_empty() {
        return Ok(Vec::new());
    }
    let sockets = socket_cookies::all().unwrap_or_default();
    Ok(census.memories.iter().filter_map(|memory| snapshot(memory, &census.processes, &sockets)).collect())
}

fn snapshot(memory: &SeenMemory, processes: &[SeenProcess], sockets: &HashMap<u64, u64>) -> Option<Snapshot> {
    let file = memory.open()?;
    let status = file.metadata().ok()?;
    let (content, cookies) = match decode(&Memory { file: &file, len: status.st_size() }) {
        Decoded::Stream(state, cookies) => (Content::State(state), cookies),
        Decoded::OtherVersion(version) => (Content::OtherVersion(version), Cookies::default()),
        Decoded::Unreadable(why) => (Content::Unreadable(why), Cookies::default()),
    };
    let lock_file = match &content {
        Content::State(state) => state.driver.as_ref().and_then(|driver| driver.lock_file),
        _ => None,
    };
    let parts = Parts { memory: memory.place, node: memory.node(), lock_file, cookies, sockets };
    let mut path = None;
    let processes = processes.iter().filter_map(|process| parts.of_process(process, &mut path)).collect();
    let kind = match (parts.node, &content) {
        (Some(node), _) => StreamKind::Fifo { node, path },
        (None, Content::State(state)) => match &state.driver {
            Some(driver) => StreamKind::Device { driver: driver.name.clone(), minor: driver.minor },
            None => StreamKind::Pipe,
        },
        (None, _) => StreamKind::Pipe,
    };
    let [_, id] = memory.place;
    let resident = status.st_blocks().saturating_mul(512);
    Some(Snapshot { id, kind, memory: status.st_size(), resident, owner: status.st_uid(), content, processes })
}

/// By which files the descriptors of a stream are known.
struct Parts<'a> {
    memory: [u64; 2],
    node: Option<[u64; 2]>,
    lock_file: Option<[u64; 2]>,
    cookies: Cookies,
    /// The cookie of each socket.
    sockets: &'a HashMap<u64, u64>,
}

impl Parts<'_> {
    /// A process, if it has the memory. `path` is set if it has the node of a FIFO.
    fn of_process(&self, process: &SeenProcess, path: &mut Option<PathBuf>) -> Option<Process> {
        let role = |file: &SeenFile| self.role(process.pid, file, path);
        let mut role = role;
        let descriptors: Vec<Descriptor> = process
            .files
            .iter()
            .filter_map(|file| Some(Descriptor { number: file.number, role: role(file)? }))
            .collect();
        let SeenProcess { pid, user, command, arguments, state, .. } = process;
        let has_memory = descriptors.iter().any(|descriptor| descriptor.role == Role::Memory);
        has_memory.then(|| Process {
            pid: *pid,
            user: *user,
            command: command.clone(),
            arguments: arguments.clone(),
            state: *state,
            descriptors,
        })
    }

    fn role(&self, pid: u32, file: &SeenFile, path: &mut Option<PathBuf>) -> Option<Role> {
        if file.place == self.memory {
            return Some(Role::Memory);
        }
        if let Some(inode) = file.pipe() {
            // A FIFO's ends are those of one pipe; 0 writes.
            let is_it = self.node.is_some() && self.cookies.ends[0] == inode;
            return is_it.then_some(Role::End(usize::from(!file.writes)));
        }
        if let Some(inode) = file.socket() {
            let cookie = self.sockets.get(&inode).copied().filter(|cookie| *cookie != 0)?;
            let end = self.cookies.ends.iter().position(|end| *end == cookie).filter(|_| self.node.is_none());
            let of = |cookies: &[u64; 2], role| cookies.contains(&cookie).then_some(role);
            return end
                .map(Role::End)
                .or_else(|| of(&self.cookies.witness, Role::Witness))
                .or_else(|| of(&self.cookies.shared_files, Role::SharedFiles));
        }
        if let Some(node) = self.node
            && let Some(found) = file.path_at(pid, node)
        {
            *path = Some(found);
            return Some(Role::Node);
        }
        self.lock_file.and_then(|place| file.path_at(pid, place)).map(|_| Role::MinorNumber)
    }
}

/// The memory of a stream, open for reading.
struct Memory<'a> {
    file: &'a File,
    len: u64,
}

impl Source for Memory<'_> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> bool {
        self.file.read_exact_at(bytes, at).is_ok()
    }
}
