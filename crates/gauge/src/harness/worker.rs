//! A forked worker: takes its end of the transport, binds itself to its CPU, and does rounds until it is told to
//! finish.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::atomic::AtomicU64;

use headwater_os::child::Child;
use headwater_os::cpu;
use headwater_os_tools::shared::{Barrier, Shared};
use headwater_os_tools::usage::Usage;

use super::conduct::{Job, LaunchError};
use super::cpu_check;
use super::link::{Link, Process, WorkerSide, answer};
use super::payload::Payload;
use super::protocol::{Reply, Report, Request, Role, Round};
use crate::transports::Unavailable;

/// The state that the workers of a launch share, beside the transport.
#[derive(Debug)]
pub struct SharedState {
    /// The barrier at which workers meet, for patterns that time single runs.
    pub barrier: Shared<Barrier>,
    /// Shared words whose meaning the pattern defines.
    pub words: Shared<[AtomicU64; 8]>,
}

impl SharedState {
    /// Allocates the state; to be called before the fork.
    ///
    /// # Errors
    /// [`LaunchError::Failed`] if memory cannot be mapped.
    pub fn new() -> Result<SharedState, LaunchError> {
        let failed = |error| LaunchError::system("mmap", error);
        Ok(SharedState {
            barrier: Shared::new(Barrier::default()).map_err(failed)?,
            words: Shared::new(Default::default()).map_err(failed)?,
        })
    }
}

/// The state that a worker uses in a round.
#[derive(Debug)]
pub struct WorkerContext<'a> {
    /// The message buffer.
    pub payload: Payload,
    /// The state shared with the other workers.
    pub shared: &'a SharedState,
    /// The parameters of the launch.
    pub job: &'a Job,
}

/// Forks a worker with `role` on `cpu` and runs `body`, once, with the worker's side of the connection.
///
/// `body` is called through its table of functions, as `do_round` is in [`serve`]: there is one copy of these two for all
/// transports, patterns and operations, and the calls are outside of what is timed.
///
/// # Errors
/// [`LaunchError::Unavailable`] if file descriptors, processes or memory for a fork are not available.
pub fn fork(
    role: Role,
    cpu: Option<u32>,
    body: &mut dyn FnMut(WorkerSide) -> io::Result<()>,
) -> Result<Link, LaunchError> {
    let (side, to_worker, from_worker) = Link::descriptors().map_err(|error| Unavailable::call("pipe2", error))?;
    let mut conductor_side = Some((to_worker, from_worker));
    let child = Child::fork(|| {
        drop(conductor_side.take());
        match cpu.map_or(Ok(()), cpu::bind).and_then(|()| body(side)) {
            Ok(()) => 0,
            Err(_) => 1,
        }
    })
    .map_err(|error| Unavailable::call("fork", error))?;
    let (to_worker, from_worker) = conductor_side.take().expect("taken in the child only");
    Ok(Link::new(role, Process::Forked(child), to_worker, from_worker))
}

/// Does rounds until it is told to finish or the connection is closed. A round that fails is answered with its error.
///
/// # Errors
/// Errors of the connection itself.
pub fn serve(side: WorkerSide, do_round: &mut dyn FnMut(&Round) -> io::Result<Report>) -> io::Result<()> {
    let mut replies = File::from(side.replies);
    for line in BufReader::new(File::from(side.requests)).lines() {
        let reply = match serde_json::from_str(&line?) {
            Ok(Request::Run(round)) => {
                let probe_before_ns = cpu_check::probe_ns();
                let before = Usage::of_process();
                match do_round(&round) {
                    Ok(mut report) => {
                        report.cost = Some(Usage::of_process().since(&before).into());
                        let slowest_probe_ns = probe_before_ns.max(cpu_check::probe_ns());
                        report.counters.insert(cpu_check::PROBE_NS.to_owned(), slowest_probe_ns as f64);
                        Reply::Result(report)
                    }
                    Err(error) => Reply::Error { message: error.to_string() },
                }
            }
            Ok(Request::Finish) => return Ok(()),
            Ok(other) => Reply::Error { message: format!("a forked worker does not do {other:?}") },
            Err(error) => Reply::Error { message: error.to_string() },
        };
        answer(&mut replies, &reply)?;
    }
    Ok(())
}

/// Answers every request with the reason for which the row cannot run here, until it is told to finish or the
/// connection is closed.
///
/// # Errors
/// Errors of the connection itself.
pub fn refuse(side: WorkerSide, reason: &str) -> io::Result<()> {
    let mut replies = File::from(side.replies);
    for line in BufReader::new(File::from(side.requests)).lines() {
        if matches!(serde_json::from_str(&line?), Ok(Request::Finish)) {
            break;
        }
        answer(&mut replies, &Reply::Skipped { reason: reason.to_owned() })?;
    }
    Ok(())
}

mod topology;

pub use topology::fork_team;

#[cfg(test)]
mod tests;
