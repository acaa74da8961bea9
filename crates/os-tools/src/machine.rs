//! Facts of the machine that only a system call tells: names, CPUs, the user of this process, the permissions of a
//! directory.
//!
//! Called by the command's `environment` and `doctor`, and around every launch for [`CpuTimes`]. It never changes
//! anything and never waits. Facts that are files are read by the command itself.

mod cgroup;
mod cpu_times;
mod hypervisor;
mod private_ipc;
mod room;

use std::io;
use std::path::Path;

pub use cgroup::{Group, Hierarchy, Throttle};
pub use cpu_times::{CpuShares, CpuTimes};
pub use hypervisor::hypervisor_signature;
pub use private_ipc::{PrivateIpc, try_private_ipc};
pub use room::available_bytes;

/// The result of `uname(2)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uname {
    /// `uname -s`.
    pub system: String,
    /// `uname -n`.
    pub host: String,
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// `uname -m`.
    pub architecture: String,
}

/// Names of the kernel and of the host.
pub fn uname() -> Uname {
    let names = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    Uname {
        system: text(names.sysname()),
        host: text(names.nodename()),
        release: text(names.release()),
        version: text(names.version()),
        architecture: text(names.machine()),
    }
}

/// Whether this process has the effective user id 0.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this process may create files in `directory`, without creating one.
///
/// # Errors
/// `EACCES`, `EROFS`, `ENOENT`: what `access(2)` reports.
pub fn may_write(directory: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    Ok(access(directory, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Returns the I/O priority of this process: class << 13 | level (`ioprio_get(2)`, which the C library does not have).
///
/// # Errors
/// `ENOSYS`, on a kernel without it.
pub fn io_priority() -> io::Result<u32> {
    /// Of a process, 0 being the calling one.
    const IOPRIO_WHO_PROCESS: libc::c_int = 1;
    // SAFETY: the call takes two numbers and touches no memory of this process.
    let priority = unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) };
    u32::try_from(priority).map_err(|_| io::Error::last_os_error())
}

/// What is free on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeSpace {
    /// Bytes that this process could still write.
    pub bytes: u64,
    /// Files that this process could still create; `None` on a file system without such a limit.
    pub files: Option<u64>,
    /// Bytes of a block, which files take whole.
    pub block_bytes: u64,
}

/// Returns what is free on the file system of `path`.
///
/// # Errors
/// What `statvfs(3)` reports.
pub fn free_space(path: &Path) -> io::Result<FreeSpace> {
    let system = rustix::fs::statvfs(path)?;
    Ok(FreeSpace {
        bytes: system.f_bavail.saturating_mul(system.f_frsize),
        // Btrfs and others have no table of files, and report one of no length.
        files: (system.f_files > 0).then_some(system.f_favail),
        block_bytes: system.f_frsize,
    })
}
