//! The command's side of a launch: starts a conductor, sends it the job, watches it, and receives its answer.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use headwater_os::child::{die_with, kill_group};
use headwater_os_tools::signal::{StopSignals, unblock_stop_signals};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::conduct::{Job, LaunchError, Measured, Outcome};
use super::external;
use super::program::Program;
use crate::transports::Unavailable;
use crate::{facilities, patterns, transports};

/// A request of the command to a conductor.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum ConductorRequest {
    /// Runs one launch; answered by an [`Outcome`].
    Launch {
        /// The launch.
        job: Box<Job>,
    },
    /// Asks for each job whether this machine can run it; answered by a list of reasons, with null for a job that can
    /// run.
    Probe {
        /// The jobs.
        jobs: Vec<Job>,
    },
}

/// The reason for which a conductor gave no answer.
#[derive(Debug)]
pub enum ConductorError {
    /// A signal asked this process to stop (its number); the conductor is dead.
    Stopped(i32),
    /// The conductor failed or was stuck; it is dead.
    Broken(String),
}

/// The hidden subcommand that runs a conductor.
pub const CONDUCT: &str = "conduct";

/// Starts `program` as a conductor, sends it `request`, and waits for the answer for at most `patience`.
///
/// When this function returns, the conductor and every process in its process group is dead.
///
/// # Errors
/// [`ConductorError`].
pub fn ask_conductor<A: DeserializeOwned>(
    program: &Program,
    request: &ConductorRequest,
    stop: &StopSignals,
    patience: Duration,
) -> Result<A, ConductorError> {
    let mut conductor =
        Conductor::start(program, request).map_err(|error| ConductorError::Broken(format!("cannot start: {error}")))?;
    let text = conductor.listen(stop, Instant::now() + patience)?;
    let status = conductor.end();
    serde_json::from_slice(&text)
        .map_err(|_| ConductorError::Broken(format!("the conductor died ({})", described(status))))
}

fn described(status: io::Result<ExitStatus>) -> String {
    status.map_or_else(|error| error.to_string(), |status| status.to_string())
}

/// A running conductor. Dropping it kills its whole process group.
struct Conductor {
    child: Child,
    ended: bool,
}

impl Conductor {
    fn start(program: &Program, request: &ConductorRequest) -> io::Result<Conductor> {
        let mut child =
            program.conductor(CONDUCT).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn()?;
        let input = child.stdin.take();
        let conductor = Conductor { child, ended: false };
        if let Some(mut input) = input {
            // If the conductor dies before it reads, its missing answer shows that.
            let _ = input.write_all(&serde_json::to_vec(request)?);
        }
        Ok(conductor)
    }

    /// Reads until the conductor closes its output.
    fn listen(&mut self, stop: &StopSignals, deadline: Instant) -> Result<Vec<u8>, ConductorError> {
        let mut output =
            self.child.stdout.take().ok_or_else(|| ConductorError::Broken("the conductor has no output".into()))?;
        let mut text = Vec::new();
        let mut piece = [0u8; 64 * 1024];
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: rest.subsec_nanos().into() };
            let mut polled = [PollFd::new(&output, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
            match poll(&mut polled, Some(&timeout)) {
                Ok(0) => return Err(ConductorError::Broken("the launch was stuck and has been killed".into())),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(ConductorError::Broken(format!("poll: {error}"))),
            }
            let (has_output, has_stop) = (!polled[0].revents().is_empty(), !polled[1].revents().is_empty());
            if has_stop && let Some(signal) = stop.taken() {
                return Err(ConductorError::Stopped(signal));
            }
            if has_output {
                match output.read(&mut piece) {
                    Ok(0) => return Ok(text),
                    Ok(count) => text.extend_from_slice(&piece[..count]),
                    Err(error) => return Err(ConductorError::Broken(error.to_string())),
                }
            }
        }
    }

    /// Waits for the conductor, then kills what is left in its process group.
    fn end(mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait();
        self.ended = true;
        kill_group(self.child.id());
        status
    }
}

impl Drop for Conductor {
    fn drop(&mut self) {
        if !self.ended {
            kill_group(self.child.id());
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The main function of a conductor: reads a [`ConductorRequest`] from standard input and writes the answer to standard
/// output. The conductor dies when the process `parent` dies.
///
/// # Errors
/// Errors of standard input or output.
pub fn conduct(parent: Option<u32>) -> io::Result<()> {
    if let Some(parent) = parent {
        die_with(parent);
    }
    unblock_stop_signals();
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let answer = match serde_json::from_str(&text)? {
        ConductorRequest::Launch { job } => serde_json::to_string(&outcome(conduct_launch(&job)))?,
        ConductorRequest::Probe { jobs } => {
            serde_json::to_string(&jobs.iter().map(|job| probe(job).err()).collect::<Vec<_>>())?
        }
    };
    let mut out = io::stdout().lock();
    out.write_all(answer.as_bytes())?;
    out.flush()
}

fn outcome(result: Result<Measured, LaunchError>) -> Outcome {
    match result {
        Ok(measured) => Outcome::Measured(Box::new(measured)),
        Err(LaunchError::Unavailable(reason)) => Outcome::Unavailable { reason },
        Err(LaunchError::Failed(reason)) => Outcome::Failed { reason },
    }
}

fn conduct_launch(job: &Job) -> Result<Measured, LaunchError> {
    let row = &job.row;
    if let Some(facility) = facilities::find(&row.pattern) {
        return (facility.conduct)(job);
    }
    let pattern = patterns::find(&row.pattern).ok_or_else(|| unknown("pattern", &row.pattern))?;
    let mut team = match &job.command {
        Some(command) => external::start_team(command, job)?,
        None => {
            let transport = transports::find(&row.subject).ok_or_else(|| unknown("transport", &row.subject))?;
            (transport.fork)(pattern, job)?
        }
    };
    let measured = (pattern.conduct)(&mut team, job)?;
    team.finish()?;
    Ok(measured)
}

fn unknown(kind: &str, name: &str) -> LaunchError {
    LaunchError::Failed(format!("no {kind} {name}"))
}

/// Checks whether this machine can run `job`; the error is the reason why not.
fn probe(job: &Job) -> Result<(), String> {
    let words = |unavailable: Unavailable| unavailable.0;
    let row = &job.row;
    if let Some(facility) = facilities::find(&row.pattern) {
        return (facility.probe)(job).map_err(words);
    }
    match (patterns::find(&row.pattern), transports::find(&row.subject)) {
        (Some(pattern), Some(transport)) => {
            let setup = job.setup(pattern.info.duplex, pattern.info.nonblocking);
            (transport.probe)(&setup).map_err(words)
        }
        // An external program has described itself already.
        _ => Ok(()),
    }
}
