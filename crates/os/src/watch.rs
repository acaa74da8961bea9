//! Another process, watched for its end through a pidfd.
//!
//! Used by `headwater-shm` to tell a silent peer from a dead one. It never signals and never reaps; it works for any
//! visible process, not only for children, and sees the end before the parent has waited.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

/// A process named so that a reuse of its number is noticed: 0 is no process.
///
/// Packed in one word (number above, start time below) so that it can be published by one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessId(u64);

impl ProcessId {
    /// The calling process. Where /proc is missing the start time reads 0 and is not compared.
    pub fn own() -> ProcessId {
        let pid = std::process::id();
        ProcessId(u64::from(pid) << 32 | u64::from(start_ticks(pid).unwrap_or(0)))
    }

    /// From the word that another process published; any number is accepted, most name no process.
    pub fn from_word(word: u64) -> ProcessId {
        ProcessId(word)
    }

    /// The word to publish; never 0 for [`ProcessId::own`].
    pub fn word(self) -> u64 {
        self.0
    }

    /// Whether the process is stopped, by a signal or a debugger. False for one that is gone or cannot be seen.
    pub fn is_stopped(self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        // The state follows the name's closing parenthesis.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
    }

    /// The process number as the kernel shows it.
    pub fn pid(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A watched process. Costs one descriptor.
#[derive(Debug)]
pub struct Watch {
    /// None: it had ended before we began to watch.
    pidfd: Option<OwnedFd>,
}

impl Watch {
    /// Begins to watch. A process that has ended already, or whose number belongs to another by now, counts as ended.
    ///
    /// Both processes must be in one PID namespace. Errors: the limit of descriptors, or a kernel before 5.3.
    pub fn begin(id: ProcessId) -> io::Result<Watch> {
        let Some(pid) = i32::try_from(id.pid()).ok().and_then(Pid::from_raw) else {
            return Ok(Watch { pidfd: None });
        };
        let pidfd = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(Errno::SRCH | Errno::INVAL) => return Ok(Watch { pidfd: None }),
            Err(error) => return Err(error.into()),
        };
        // The start time is read after the pidfd holds the number: if they agree, the pidfd is of the right process.
        let wanted = id.0 as u32;
        let reused = wanted != 0 && start_ticks(id.pid()).is_some_and(|found| found != wanted);
        Ok(Watch { pidfd: (!reused).then_some(pidfd) })
    }

    /// True once the process has ended, be it reaped or not. One poll(2).
    pub fn has_ended(&self) -> io::Result<bool> {
        let Some(pidfd) = &self.pidfd else { return Ok(true) };
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match rustix::event::poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&now)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// The low half of the process's start time in clock ticks since boot: field 22 of /proc/PID/stat, counted after the
/// last `)` because the name may hold anything.
fn start_ticks(pid: u32) -> Option<u32> {
    if cfg!(miri) {
        // Miri's /proc is the host's, and its process number is not.
        return None;
    }
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks: u64 = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()?;
    Some(ticks as u32)
}

#[cfg(test)]
mod tests;
