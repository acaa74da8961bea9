//! The identity of a process. A process publishes it in shared memory, so that other processes can check whether it has ended.
//!
//! Used by `headwater-shm` to tell a silent peer from a dead one. A check sends no signal and reaps no child, and it works for
//! all visible processes. The answer "has ended" is certain: a process of another PID namespace, or one that cannot be seen,
//! never counts as ended.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

use crate::fork;
use crate::proc_file::{self, Start};

/// The lower half of [`ProcessId::birth`] if it is not known where the program is in memory.
const UNKNOWN: u64 = 1;
/// The positions of fields in /proc/PID/stat, counted from the field after the name.
const STATE: usize = 0;
const THREADS: usize = 17;
const START_TIME: usize = 19;
const START_CODE: usize = 23;
const START_STACK: usize = 25;

/// The identity of a process. It differs for processes of other PID namespaces with the same process id, for a later process that
/// reuses the id, and after an exec.
///
/// It is published as three words: `place` first, then the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessId {
    /// Upper half: the inode of the PID namespace (0: unknown). Lower half: the process id there. 0 names no process.
    place: u64,
    /// Upper half: the low half of the start time in clock ticks since boot (0: unknown). Lower half: a fingerprint of where
    /// the program is in memory, which changes at exec ([`UNKNOWN`]: unknown). 0: not published yet.
    birth: u64,
    /// Random bytes that the kernel gives to each program that it starts; 0: unknown. Only the process itself can read them.
    image: u64,
}

impl ProcessId {
    /// Returns the identity of the calling process. Facts that are not available, because /proc is not mounted, are unknown.
    pub fn own() -> ProcessId {
        Own::get().id
    }

    /// Makes an identity from the words that another process has published. Any words are accepted. Most name no process.
    pub fn from_words(place: u64, birth: u64, image: u64) -> ProcessId {
        ProcessId { place, birth, image }
    }

    /// Returns the word with the namespace and the process id. It is never 0 for [`ProcessId::own`].
    pub fn place(self) -> u64 {
        self.place
    }

    /// Returns the word that changes when the process id is reused, and at exec. It is never 0 for [`ProcessId::own`].
    pub fn birth(self) -> u64 {
        self.birth
    }

    /// Returns the word that changes at exec. Only the process itself can compare it.
    pub fn image(self) -> u64 {
        self.image
    }

    /// Returns the process id in its own PID namespace.
    pub fn pid(self) -> u32 {
        self.place as u32
    }

    /// Returns whether the process is in the caller's PID namespace, so that its process id is valid here.
    pub fn is_visible(self) -> bool {
        let namespace = self.place >> 32;
        namespace != 0 && namespace == ProcessId::own().place >> 32
    }

    /// Returns true if it is certain that the process has ended, or has executed another program. A zombie has ended.
    ///
    /// Returns false for every process of another PID namespace, and for one that cannot be seen. Uses a pidfd. If the kernel
    /// refuses one (before Linux 5.3, by a system call filter, at the limit of descriptors), uses signal 0 and /proc.
    pub fn has_ended(self) -> bool {
        if !self.is_visible() {
            return false;
        }
        let own = ProcessId::own();
        if self.place == own.place {
            return self.birth_differs(own.birth) || differ(self.image, own.image);
        }
        let Some(pid) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw) else { return true };
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            // The birth is read while the pidfd keeps the process id from being reused. If it agrees, the pidfd refers to the
            // right process.
            Ok(pidfd) => self.is_another() || has_exited(&pidfd).unwrap_or_else(|_| self.is_gone(pid)),
            Err(Errno::SRCH | Errno::INVAL) => true,
            Err(_) => self.is_gone(pid),
        }
    }

    /// Like [`ProcessId::has_ended`], without a pidfd.
    fn is_gone(self, pid: Pid) -> bool {
        if rustix::process::test_kill_process(pid) == Err(Errno::SRCH) {
            return true;
        }
        let Some(stat) = self.stat() else { return false };
        // If the first thread has ended before the others, the state is also zombie.
        let is_zombie =
            matches!(stat.field(STATE), Some("Z" | "X")) && stat.number(THREADS).is_some_and(|all| all <= 1);
        is_zombie || self.birth_differs(stat.birth(Own::get().time_is_ours))
    }

    /// Returns whether another process has the process id now, or the process runs another program.
    fn is_another(self) -> bool {
        self.stat().is_some_and(|stat| self.birth_differs(stat.birth(Own::get().time_is_ours)))
    }

    fn stat(self) -> Option<Stat> {
        if Own::get().proc_is_ours { Stat::read(self.pid()) } else { None }
    }

    fn birth_differs(self, found: u64) -> bool {
        let image = |birth: u64| if birth as u32 == UNKNOWN as u32 { 0 } else { u64::from(birth as u32) };
        differ(self.birth >> 32, found >> 32) || differ(image(self.birth), image(found))
    }
}

/// The facts about this process. Each process reads them once.
#[derive(Clone, Copy)]
struct Own {
    id: ProcessId,
    /// True if /proc shows this process's own PID namespace.
    proc_is_ours: bool,
    /// True if the times in /proc are those of the machine, and not those of a time namespace.
    time_is_ours: bool,
}

impl Own {
    fn get() -> Own {
        /// The epoch in which the words were written. If several threads write them, they write the same values.
        static EPOCH: AtomicU64 = AtomicU64::new(0);
        static WORDS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
        let epoch = fork::epoch();
        // Acquire pairs with the Release below.
        if EPOCH.load(Ordering::Acquire) == epoch {
            let [place, birth, image, ours] = [0, 1, 2, 3].map(|at: usize| WORDS[at].load(Ordering::Relaxed));
            let id = ProcessId { place, birth, image };
            return Own { id, proc_is_ours: ours & 1 != 0, time_is_ours: ours & 2 != 0 };
        }
        let own = Own::look();
        let ours = u64::from(own.proc_is_ours) | u64::from(own.time_is_ours) << 1;
        for (word, value) in WORDS.iter().zip([own.id.place, own.id.birth, own.id.image, ours]) {
            word.store(value, Ordering::Relaxed);
        }
        EPOCH.store(epoch, Ordering::Release);
        own
    }

    fn look() -> Own {
        let time_is_ours = time_is_ours();
        let place = u64::from(namespace()) << 32 | u64::from(std::process::id());
        let birth = Stat::read("self").map_or(UNKNOWN, |stat| stat.birth(time_is_ours));
        let id = ProcessId { place, birth, image: random_of_image() };
        Own { id, proc_is_ours: proc_is_ours(), time_is_ours }
    }
}

/// Returns whether two words are both known and differ.
fn differ(one: u64, other: u64) -> bool {
    one != 0 && other != 0 && one != other
}

/// Returns whether the process of a pidfd has exited. Costs one poll(2).
fn has_exited(pidfd: &rustix::fd::OwnedFd) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match rustix::event::poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&now)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the inode of this process's PID namespace; 0 without /proc.
fn namespace() -> u32 {
    if cfg!(miri) {
        // Miri's /proc is the host's.
        return 0;
    }
    let inode = rustix::fs::stat("/proc/self/ns/pid").map_or(0, |found| found.st_ino);
    u32::try_from(inode).unwrap_or(0)
}

/// Returns the first 8 bytes of those to which AT_RANDOM points.
fn random_of_image() -> u64 {
    if cfg!(miri) {
        return 0;
    }
    // SAFETY: the argument is a number.
    let place = unsafe { libc::getauxval(libc::AT_RANDOM) } as *const [u8; 8];
    // SAFETY: the kernel stores 16 bytes there at exec, and they stay as long as the program runs.
    if place.is_null() { 0 } else { u64::from_ne_bytes(unsafe { place.read() }) }
}

/// Returns whether /proc shows this process's own PID namespace. It may be mounted for another one, whose process ids mean other
/// processes.
fn proc_is_ours() -> bool {
    // The line has the process id in the namespace of /proc, and then in each nested namespace.
    proc_file::any_line(format_args!("/proc/self/status"), |line| {
        let numbers = line.strip_prefix(b"NSpid:").and_then(|numbers| std::str::from_utf8(numbers).ok());
        numbers
            .is_some_and(|numbers| numbers.split_ascii_whitespace().map(str::parse::<u32>).eq([Ok(std::process::id())]))
    })
}

/// Returns whether the times in /proc are those of the machine, and not those of a time namespace.
fn time_is_ours() -> bool {
    let differs = |line: &[u8]| {
        let text = std::str::from_utf8(line).unwrap_or_default();
        text.split_ascii_whitespace().skip(1).any(|part| part != "0")
    };
    !proc_file::any_line(format_args!("/proc/self/timens_offsets"), differs)
}

/// The contents of /proc/PID/stat.
struct Stat {
    text: Start<1024>,
    /// The end of the name, which may contain any bytes.
    name_end: usize,
}

impl Stat {
    fn read(process: impl fmt::Display) -> Option<Stat> {
        if cfg!(miri) {
            return None;
        }
        let text = Start::read(format_args!("/proc/{process}/stat"))?;
        let name_end = text.bytes().iter().rposition(|byte| *byte == b')')?;
        Some(Stat { text, name_end })
    }

    fn field(&self, at: usize) -> Option<&str> {
        let rest = std::str::from_utf8(&self.text.bytes()[self.name_end + 1..]).ok()?;
        rest.split_ascii_whitespace().nth(at)
    }

    fn number(&self, at: usize) -> Option<u64> {
        self.field(at)?.parse().ok()
    }

    /// Returns [`ProcessId::birth`]. The kernel shows where the program is in memory only to processes that may trace it.
    fn birth(&self, time_is_ours: bool) -> u64 {
        let start = if time_is_ours { self.number(START_TIME).unwrap_or(0) } else { 0 };
        let image = match (self.number(START_CODE), self.number(START_STACK)) {
            (Some(code), Some(stack)) if stack != 0 => {
                let mixed = (code ^ stack.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                mixed.max(UNKNOWN + 1)
            }
            _ => UNKNOWN,
        };
        start << 32 | image
    }
}

mod notify;

pub use notify::{may_signal, signal_group};

#[cfg(test)]
mod tests;
