//! Signals to a process or process group that the program has registered for signals (I_ESETSIG). A signal goes to exactly that
//! process, and only if it uses the stream's memory. A [`ProcessId`] that another process could write gets no signal.

use std::io;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process};

use super::{Own, ProcessId};
use crate::proc_file;

impl ProcessId {
    /// Returns the identity of the process with this id in the caller's PID namespace. Returns `None` if there is no such process,
    /// or /proc does not show it.
    pub fn from_pid(pid: u32) -> Option<ProcessId> {
        let own = Own::get();
        if pid == own.id.pid() {
            return Some(own.id);
        }
        let stat = own.proc_is_ours.then(|| super::Stat::read(pid)).flatten()?;
        Some(ProcessId {
            place: own.id.place >> 32 << 32 | u64::from(pid),
            birth: stat.birth(own.time_is_ours),
            image: 0,
        })
    }

    /// Sends a signal to the process if it is still the same and has `memory` mapped. Returns whether the signal was sent. It is
    /// not sent if the process has ended or runs another program, is in another PID namespace, or cannot be inspected.
    ///
    /// Uses a pidfd, so that a process that reuses the process id meanwhile gets no signal. Where the kernel refuses a pidfd
    /// (before Linux 5.3, or by a system call filter), the id may be reused between the check and the signal.
    ///
    /// # Errors
    /// `PermissionDenied` if the caller may not send signals to the process.
    pub fn signal(self, number: i32, memory: impl AsFd) -> io::Result<bool> {
        let Some(signal) = Signal::from_named_raw(number) else { return Err(Errno::INVAL.into()) };
        if !self.is_visible() {
            return Ok(false);
        }
        let Some(pid) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw) else { return Ok(false) };
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => {
                if self.is_another() || !self.maps(memory)? {
                    return Ok(false);
                }
                sent(rustix::process::pidfd_send_signal(pidfd, signal))
            }
            Err(Errno::SRCH | Errno::INVAL) => Ok(false),
            Err(_) if self.is_gone(pid) || !self.maps(memory)? => Ok(false),
            Err(_) => sent(kill_process(pid, signal)),
        }
    }

    /// Returns whether the process has a file mapped. Returns false if /proc does not show its mappings.
    fn maps(self, file: impl AsFd) -> io::Result<bool> {
        if !Own::get().proc_is_ours {
            return Ok(false);
        }
        let status = rustix::fs::fstat(file)?;
        let (major, minor) = (rustix::fs::major(status.st_dev), rustix::fs::minor(status.st_dev));
        // The fields of a line: range, permissions, offset, device, inode, path.
        let is_it = |line: &[u8]| {
            let mut fields = line.split(|byte| *byte == b' ').skip(3).map(|field| std::str::from_utf8(field).ok());
            let device = fields.next().flatten().and_then(|device| device.split_once(':'));
            let part = |part: &str| u32::from_str_radix(part, 16).ok();
            let inode = fields.next().flatten().and_then(|inode| inode.parse::<u64>().ok());
            device.is_some_and(|(one, other)| (part(one), part(other)) == (Some(major), Some(minor)))
                && inode == Some(status.st_ino)
        };
        Ok(proc_file::any_line(format_args!("/proc/{}/maps", self.pid()), is_it))
    }
}

fn sent(done: rustix::io::Result<()>) -> io::Result<bool> {
    match done {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Checks the id of a process group. 0 and 1 are refused: to kill(2), 0 is the caller's own group, and 1 would mean all
/// processes.
fn group(number: u32) -> rustix::io::Result<Pid> {
    i32::try_from(number).ok().filter(|number| *number > 1).and_then(Pid::from_raw).ok_or(Errno::INVAL)
}

/// Sends a signal to a process group of the caller's PID namespace. The id of a group is the process id of its leader.
///
/// # Errors
/// `InvalidInput` for the ids 0 and 1; the errors of kill(2).
pub fn signal_group(number: u32, signal: i32) -> io::Result<()> {
    let signal = Signal::from_named_raw(signal).ok_or(Errno::INVAL)?;
    Ok(rustix::process::kill_process_group(group(number)?, signal)?)
}

/// Checks that the caller may send signals to a process, or to a process group.
///
/// # Errors
/// Those of [`signal_group`]; the errors of kill(2): `PermissionDenied`, or `ESRCH` if it does not exist.
pub fn may_signal(number: u32, is_group: bool) -> io::Result<()> {
    if is_group {
        return Ok(rustix::process::test_kill_process_group(group(number)?)?);
    }
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw).ok_or(Errno::INVAL)?;
    Ok(rustix::process::test_kill_process(pid)?)
}
