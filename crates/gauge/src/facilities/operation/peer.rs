//! The second process of an operation: it answers, sends or is woken. [`super::Operation::prepare`] forks it. It dies
//! with the process of the operation, or when its handle is dropped.

use std::io;

use headwater_os::child::Child;
use headwater_os::cpu;

use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Forks a process that runs `body` on the job's second CPU. `body` must drop inherited descriptors that it does not
/// need, so that a pipe ends when its last user ends.
///
/// # Errors
/// [`Unavailable`] with what `fork(2)` reports.
pub fn fork_peer(job: &Job, body: impl FnOnce() -> io::Result<()>) -> Result<Child, Unavailable> {
    let cpu = job.cpus.map(|(_, second)| second);
    Child::fork(|| i32::from(cpu.map_or(Ok(()), cpu::bind).and_then(|()| body()).is_err()))
        .map_err(|error| Unavailable::call("fork", error))
}
