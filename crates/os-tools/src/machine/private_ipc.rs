//! Whether a private IPC namespace can be made here: tried in a forked child, so that this process keeps its own.
//!
//! In such a namespace the limits of POSIX and System V queues (ipc_namespaces(7)) can be raised for a measurement
//! without a change of the machine's own.

use std::fs::OpenOptions;
use std::io;
use std::process::ExitStatus;

use crate::namespace;
use headwater_os::child::Child;

/// The outcome of a trial.
#[derive(Debug)]
pub enum PrivateIpc {
    /// It can be made, and the queue limits inside can be raised.
    Possible,
    /// It can be made, but its limits cannot be raised.
    LimitsFixed,
    /// The kernel or a filter forbids it.
    Refused(io::Error),
}

/// Exit status of the child: made, and the limits can be written.
const MADE: i32 = 0;
/// Exit status of the child: made, but the limits cannot be written. Other statuses are an errno, all below 134.
const LIMITS_FIXED: i32 = 255;

/// The limits that are raised for a measurement.
const LIMITS: [&str; 4] = ["kernel/msgmax", "kernel/msgmnb", "fs/mqueue/msg_max", "fs/mqueue/msgsize_max"];

/// Tries it with the rights that this process has. Takes about 1 ms. As [`Child::fork`], it wants one thread.
pub fn try_private_ipc() -> PrivateIpc {
    match Child::fork(attempt).and_then(|mut child| child.wait()) {
        Ok(status) => outcome(status),
        Err(error) => PrivateIpc::Refused(error),
    }
}

/// Runs in the child; its answer is the exit status.
fn attempt() -> i32 {
    if let Err(error) = namespace::private_ipc() {
        return error.raw_os_error().unwrap_or(libc::EPERM);
    }
    let may_write = |name: &&str| OpenOptions::new().write(true).open(format!("/proc/sys/{name}")).is_ok();
    if LIMITS.iter().all(may_write) { MADE } else { LIMITS_FIXED }
}

fn outcome(status: ExitStatus) -> PrivateIpc {
    match status.code() {
        Some(MADE) => PrivateIpc::Possible,
        Some(LIMITS_FIXED) => PrivateIpc::LimitsFixed,
        Some(errno) => PrivateIpc::Refused(io::Error::from_raw_os_error(errno)),
        None => PrivateIpc::Refused(io::Error::other("a filter killed the process that tried")),
    }
}

#[cfg(test)]
mod tests;
