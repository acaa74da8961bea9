//! CPUs: those of the machine, those that this process may use, and moving the calling thread.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The CPUs that the calling thread may use, ascending.
///
/// # Errors
/// The errors of `sched_getaffinity(2)`.
pub fn allowed() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect())
}

/// CPUs that are on line, at least 1. More than this process may use, if its affinity is restricted.
pub fn online() -> u32 {
    // SAFETY: sysconf(3) takes a number and touches no memory of ours.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(count).unwrap_or(1).max(1)
}

/// The CPU that the calling thread runs on at this moment; a hint, since it may move right after.
pub fn current() -> u32 {
    sched_getcpu() as u32
}

/// Binds the calling thread to `cpu`.
///
/// # Errors
/// The errors of `sched_setaffinity(2)`: `EINVAL` when the CPU is off line or not allowed.
pub fn bind(cpu: u32) -> io::Result<()> {
    bind_to(&[cpu])
}

/// Lets the calling thread run on any of `cpus`.
///
/// # Errors
/// Those of [`bind`].
pub fn bind_to(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu as usize));
    Ok(sched_setaffinity(None, &set)?)
}
