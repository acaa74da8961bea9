//! A private IPC namespace: System V and POSIX queues that no other process sees, with limits of their own, and that
//! vanish with the last process in it, however that ends.

use std::fs;
use std::io;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The process that has entered a namespace of its own; a child of it does not count, though it shares the namespace.
static ENTERED: AtomicU32 = AtomicU32::new(0);

/// Moves the calling process (and its later children) into a new IPC namespace; without the privilege, into a new user
/// namespace as well, in which it has it. A process that is in one that it made stays there, with its queues. The caller
/// must have one thread only.
///
/// # Errors
/// `EPERM` or `ENOSPC` where the system does not allow it.
pub fn private_ipc() -> io::Result<()> {
    if ENTERED.load(Ordering::Relaxed) != process::id() {
        enter()?;
        ENTERED.store(process::id(), Ordering::Relaxed);
    }
    Ok(())
}

fn enter() -> io::Result<()> {
    // SAFETY: unshare takes flags and touches no memory.
    if unsafe { libc::unshare(libc::CLONE_NEWIPC) } == 0 {
        return Ok(());
    }
    // SAFETY: getuid and getgid touch no memory.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    // SAFETY: as above.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWIPC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}
