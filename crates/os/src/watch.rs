//! The identity of a process, published in shared memory so that others can ask whether the process has ended.
//!
//! Used by `headwater-shm` to tell a silent peer from a dead one. It never signals and never reaps, and it works for any
//! visible process, not only for children. The answer "has ended" is a proof: a process of another PID namespace, or one
//! that cannot be seen, never counts as ended.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

use crate::fork;
use crate::proc_file::{self, Start};

/// The lower half of [`ProcessId::birth`] if the place of the program is not known.
const UNKNOWN: u64 = 1;
/// State and further fields of /proc/PID/stat, counted from behind the name.
const STATE: usize = 0;
const THREADS: usize = 17;
const START_TIME: usize = 19;
const START_CODE: usize = 23;
const START_STACK: usize = 25;

/// A process, named so that neither another namespace, nor a reuse of its number, nor an exec is taken for it.
///
/// It is published as three words: `place` first, the others when that word is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessId {
    /// Upper half: the inode of its PID namespace (0: unknown); lower half: its number there. 0 names no process.
    place: u64,
    /// Upper half: the low half of its start time in clock ticks since boot (0: unknown); lower half: a fingerprint of
    /// where its program lies in memory, which changes at exec ([`UNKNOWN`]: unknown). 0: not published yet.
    birth: u64,
    /// Random bytes that the kernel gives to every program that it starts. 0: unknown. Only the process itself can read it.
    image: u64,
}

impl ProcessId {
    /// The calling process. Facts that are not available, because /proc is missing, are unknown.
    pub fn own() -> ProcessId {
        Own::get().id
    }

    /// From the words that another process published; any words are accepted, most name no process.
    pub fn from_words(place: u64, birth: u64, image: u64) -> ProcessId {
        ProcessId { place, birth, image }
    }

    /// The word that says which process it is; never 0 for [`ProcessId::own`].
    pub fn place(self) -> u64 {
        self.place
    }

    /// The word that changes when the number is reused, and at exec; never 0 for [`ProcessId::own`].
    pub fn birth(self) -> u64 {
        self.birth
    }

    /// The word that changes at exec, for the process itself to see.
    pub fn image(self) -> u64 {
        self.image
    }

    /// The process number as its PID namespace shows it.
    pub fn pid(self) -> u32 {
        self.place as u32
    }

    /// Whether it is of the caller's PID namespace, so that its number means something here.
    pub fn is_visible(self) -> bool {
        let namespace = self.place >> 32;
        namespace != 0 && namespace == ProcessId::own().place >> 32
    }

    /// True if it is certain that the process has ended, whether or not it was reaped, or has executed another program.
    ///
    /// False for every process of another PID namespace, and for one that cannot be seen. Uses a pidfd; where the kernel
    /// refuses that (before Linux 5.3, a system call filter, the limit of descriptors), signal 0 and /proc.
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
            // The birth is read while the pidfd holds the number: if it agrees, the pidfd is of the right process.
            Ok(pidfd) => self.is_another() || has_exited(&pidfd).unwrap_or_else(|_| self.is_gone(pid)),
            Err(Errno::SRCH | Errno::INVAL) => true,
            Err(_) => self.is_gone(pid),
        }
    }

    /// As [`ProcessId::has_ended`], without a pidfd.
    fn is_gone(self, pid: Pid) -> bool {
        if rustix::process::test_kill_process(pid) == Err(Errno::SRCH) {
            return true;
        }
        let Some(stat) = self.stat() else { return false };
        // A first thread that ended before the other threads is a zombie too.
        let is_zombie =
            matches!(stat.field(STATE), Some("Z" | "X")) && stat.number(THREADS).is_some_and(|all| all <= 1);
        is_zombie || self.birth_differs(stat.birth(Own::get().time_is_ours))
    }

    /// Whether the number belongs to another process by now, or the process runs another program.
    fn is_another(self) -> bool {
        self.stat().is_some_and(|stat| self.birth_differs(stat.birth(Own::get().time_is_ours)))
    }

    fn stat(self) -> Option<Stat> {
        if Own::get().proc_is_ours { Stat::of(self.pid()) } else { None }
    }

    fn birth_differs(self, found: u64) -> bool {
        let image = |birth: u64| if birth as u32 == UNKNOWN as u32 { 0 } else { u64::from(birth as u32) };
        differ(self.birth >> 32, found >> 32) || differ(image(self.birth), image(found))
    }
}

/// What this process knows about itself; read once in each process.
#[derive(Clone, Copy)]
struct Own {
    id: ProcessId,
    /// Whether /proc shows this process's own PID namespace.
    proc_is_ours: bool,
    /// Whether times in /proc are those of the machine, and not of a time namespace.
    time_is_ours: bool,
}

impl Own {
    fn get() -> Own {
        /// The epoch in which the words were written; they are written by the first thread, or by several threads with
        /// the same values.
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
        let birth = Stat::of("self").map_or(UNKNOWN, |stat| stat.birth(time_is_ours));
        let id = ProcessId { place, birth, image: random_of_image() };
        Own { id, proc_is_ours: proc_is_ours(), time_is_ours }
    }
}

/// Whether two words are both known, and not the same.
fn differ(one: u64, other: u64) -> bool {
    one != 0 && other != 0 && one != other
}

/// One poll(2).
fn has_exited(pidfd: &rustix::fd::OwnedFd) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match rustix::event::poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&now)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The inode of this process's PID namespace; 0 without /proc.
fn namespace() -> u32 {
    if cfg!(miri) {
        // Miri's /proc is the host's.
        return 0;
    }
    let inode = rustix::fs::stat("/proc/self/ns/pid").map_or(0, |found| found.st_ino);
    u32::try_from(inode).unwrap_or(0)
}

/// The first bytes to which AT_RANDOM points.
fn random_of_image() -> u64 {
    if cfg!(miri) {
        return 0;
    }
    // SAFETY: takes a number.
    let place = unsafe { libc::getauxval(libc::AT_RANDOM) } as *const [u8; 8];
    // SAFETY: the kernel puts 16 bytes there at exec, and they stay for the life of the program.
    if place.is_null() { 0 } else { u64::from_ne_bytes(unsafe { place.read() }) }
}

/// Whether /proc shows this process's own PID namespace: it may be mounted for another, whose numbers mean other processes.
fn proc_is_ours() -> bool {
    // The number in the namespace of /proc, then in each below it.
    proc_file::any_line(format_args!("/proc/self/status"), |line| {
        let numbers = line.strip_prefix(b"NSpid:").and_then(|numbers| std::str::from_utf8(numbers).ok());
        numbers
            .is_some_and(|numbers| numbers.split_ascii_whitespace().map(str::parse::<u32>).eq([Ok(std::process::id())]))
    })
}

/// Whether times in /proc are those of the machine, and not of a time namespace of ours.
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
    fn of(process: impl fmt::Display) -> Option<Stat> {
        if cfg!(miri) {
            return None;
        }
        let text = Start::of(format_args!("/proc/{process}/stat"))?;
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

    /// [`ProcessId::birth`]. The kernel shows where the program lies only to processes that may trace the process.
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
