//! CPUs: which ones are online, which ones this thread may use, and binding the thread to some of them.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Returns the CPUs that the calling thread may use, in ascending order.
///
/// # Errors
/// The errors of `sched_getaffinity(2)`.
pub fn allowed() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect())
}

/// Returns the number of CPUs that are online, at least 1. This process may be restricted to fewer.
pub fn online() -> u32 {
    // SAFETY: sysconf(3) takes a number and touches no memory.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(count).unwrap_or(1).max(1)
}

/// Returns the CPU that the calling thread runs on. It is a hint: the thread may move at any time.
pub fn current() -> u32 {
    sched_getcpu() as u32
}

/// Binds the calling thread to `cpu`.
///
/// # Errors
/// The errors of `sched_setaffinity(2)`: `EINVAL` if the CPU is offline or not allowed.
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
