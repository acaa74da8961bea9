//! The streams of all processes that this one may look at, as /proc shows them: their memories, and the descriptors of each
//! process that has one.
//!
//! The inspection calls it. It opens nothing but the memories, for reading alone: a descriptor of a doorbell would keep an end
//! open. Memories are read by read(2) and not mapped, because reading a hole through a mapping would give it pages.
//! Processes come, go and close files at any time; what cannot be read any more is left out.

use std::fs::{self, File};
use std::os::linux::fs::MetadataExt;
use std::path::PathBuf;

use headwater_os::descriptors::{self, Found};
use headwater_os::files::OFlags;

use super::fifo::MEMORY_NAME as FIFO;
use crate::error::Result;
use crate::process::region::NAME as PIPE;

/// What the processes have open.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// Each once, by inode.
    pub memories: Vec<SeenMemory>,
    /// Those with a memory, by number.
    pub processes: Vec<SeenProcess>,
}

/// The memory of a stream, or of something that has its name.
#[derive(Debug)]
pub(crate) struct SeenMemory {
    /// Without the kernel's decoration.
    pub name: String,
    /// Device and inode.
    pub place: [u64; 2],
    holders: Vec<Found>,
}

/// A process with the memory of a stream.
#[derive(Debug)]
pub(crate) struct SeenProcess {
    pub pid: u32,
    /// The effective user.
    pub user: u32,
    /// The name of the program (comm).
    pub command: String,
    /// Its arguments, the program's name first.
    pub arguments: Vec<String>,
    /// The letter of its state: R, S, T, Z.
    pub state: char,
    pub files: Vec<SeenFile>,
}

/// A descriptor of such a process.
#[derive(Debug)]
pub(crate) struct SeenFile {
    pub number: u32,
    pub link: String,
    /// Device and inode of a memory; of others the inode alone, if it is known.
    pub place: [u64; 2],
    /// It is open for writing.
    pub writes: bool,
}

impl Census {
    /// Looks at all processes.
    pub fn take() -> Result<Census> {
        let mut census = Census::default();
        for pid in descriptors::processes()? {
            // A process that has ended, or belongs to another user, shows no descriptors.
            let links: Vec<_> =
                descriptors::of_process(pid).unwrap_or_default().into_iter().filter_map(with_link).collect();
            if !links.iter().any(|(_, link)| is_memory(link)) {
                continue;
            }
            let Some(process) = SeenProcess::of(pid, links) else { continue };
            for file in process.files.iter().filter(|file| is_memory(&file.link)) {
                let holder = Found { pid, number: file.number };
                match census.memories.iter_mut().find(|memory| memory.place == file.place) {
                    Some(memory) => memory.holders.push(holder),
                    None => {
                        let name = descriptors::name_in(&file.link).unwrap_or_default().to_owned();
                        census.memories.push(SeenMemory { name, place: file.place, holders: vec![holder] });
                    }
                }
            }
            census.processes.push(process);
        }
        census.memories.sort_by_key(|memory| memory.place);
        census.processes.sort_by_key(|process| process.pid);
        Ok(census)
    }
}

impl SeenMemory {
    /// Opens the memory for reading; None if no process has it open any more.
    pub fn open(&self) -> Option<File> {
        self.holders.iter().find_map(|holder| {
            let pinned = holder.pin().ok()?;
            // Another file may have come to that number.
            let status = pinned.status().ok()?;
            if [status.device, status.number] != self.place || pinned.memory_name().ok()?.as_ref() != Some(&self.name) {
                return None;
            }
            pinned.open(OFlags::RDONLY).ok().map(File::from)
        })
    }

    /// The FIFO's node, as the memory's name has it: device and inode.
    pub fn node(&self) -> Option<[u64; 2]> {
        // Behind them stands its pipe's.
        let mut parts = self.name.strip_prefix(FIFO)?.strip_prefix('-')?.split('-').map(|part| part.parse().ok());
        Some([parts.next()??, parts.next()??])
    }
}

impl SeenProcess {
    fn of(pid: u32, links: Vec<(Found, String)>) -> Option<SeenProcess> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may contain anything, a parenthesis too.
        let (head, rest) = stat.rsplit_once(')')?;
        let command = head.split_once('(')?.1.to_owned();
        let state = rest.trim_start().chars().next()?;
        let user = fs::metadata(format!("/proc/{pid}")).ok()?.st_uid();
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let arguments = arguments.split(|byte| *byte == 0).filter(|bytes| !bytes.is_empty()).map(text).collect();
        let files = links.into_iter().filter_map(|(found, link)| SeenFile::of(found, link)).collect();
        Some(SeenProcess { pid, user, command, arguments, state, files })
    }
}

impl SeenFile {
    fn of(found: Found, link: String) -> Option<SeenFile> {
        let Found { pid, number } = found;
        let about = || fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok();
        let (mut place, mut writes) = ([0, 0], false);
        if is_memory(&link) {
            // A user of the stream has it open for both. Another process that looks at it has it open for reading, for a moment.
            writes = field(&about()?, "flags:").is_some_and(is_to_write);
            place = place_of(found).filter(|_| writes)?;
        } else if let Some(inode) = number_in(&link, "socket:[") {
            place[1] = inode;
        } else if link.starts_with("pipe:[") || link.starts_with('/') {
            // No stat(2): a file system may be one that does not answer.
            let about = about()?;
            let inode = field(&about, "ino:").and_then(|inode| inode.parse().ok());
            place[1] = inode.or_else(|| number_in(&link, "pipe:["))?;
            writes = field(&about, "flags:").is_some_and(is_to_write);
        } else {
            return None;
        }
        Some(SeenFile { number, link, place, writes })
    }

    /// The file's path, if it is the one at that place: device and inode.
    pub fn path_at(&self, pid: u32, place: [u64; 2]) -> Option<PathBuf> {
        let is_it = self.link.starts_with('/')
            && self.place[1] == place[1]
            && place_of(Found { pid, number: self.number }) == Some(place);
        is_it.then(|| PathBuf::from(&self.link))
    }

    /// The inode, of a socket.
    pub fn socket(&self) -> Option<u64> {
        self.link.starts_with("socket:").then_some(self.place[1])
    }

    /// The inode, of a pipe without a name.
    pub fn pipe(&self) -> Option<u64> {
        self.link.starts_with("pipe:").then_some(self.place[1])
    }
}

/// A field of fdinfo, as proc(5) has it.
fn field<'a>(about: &'a str, name: &str) -> Option<&'a str> {
    about.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// Whether the flags of an open file, in octal, let it be written: the lowest two bits are the access, as in fcntl(2).
fn is_to_write(flags: &str) -> bool {
    u32::from_str_radix(flags, 8).is_ok_and(|flags| flags & 3 != 0)
}

fn with_link(found: Found) -> Option<(Found, String)> {
    Some((found, descriptors::link(found).ok()?.to_string_lossy().into_owned()))
}

/// Whether a link leads to a memory with the name of a stream's.
fn is_memory(link: &str) -> bool {
    let begins = |name: &str, with| name.strip_prefix(with).is_some_and(|rest: &str| rest.starts_with('-'));
    descriptors::name_in(link).is_some_and(|name| begins(name, PIPE) || begins(name, FIFO))
}

/// Device and inode of an open file. It is not opened.
fn place_of(found: Found) -> Option<[u64; 2]> {
    let status = fs::metadata(format!("/proc/{}/fd/{}", found.pid, found.number)).ok()?;
    Some([status.st_dev(), status.st_ino()])
}

fn number_in(link: &str, before: &str) -> Option<u64> {
    link.strip_prefix(before)?.strip_suffix(']')?.parse().ok()
}
