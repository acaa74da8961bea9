//! A second process of an operation: who answers, sends or is woken. Forked by [`super::Operation::prepare`]; it dies with
//! the process that does the operation, or when its handle is dropped.

use std::io;

use headwater_os::child::Child;
use headwater_os::cpu;

use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Forks a process that runs `body` on the job's second CPU. Whatever it inherits and does not need, `body` drops, so that
/// a pipe ends when its last real user is gone.
///
/// # Errors
/// [`Unavailable`] with what `fork(2)` reports.
pub fn fork_peer(job: &Job, body: impl FnOnce() -> io::Result<()>) -> Result<Child, Unavailable> {
    let cpu = job.cpus.map(|(_, second)| second);
    Child::fork(|| i32::from(cpu.map_or(Ok(()), cpu::bind).and_then(|()| body()).is_err()))
        .map_err(|error| Unavailable::call("fork", error))
}
