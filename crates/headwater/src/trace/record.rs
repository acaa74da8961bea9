//! Records a command from its first instruction to its end.

use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use headwater_os_tools::signal::StopSignals;
use headwater_trace::listen;
use headwater_trace::session::VARIABLE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::descendants::Descendants;
pub use super::program::End;
use super::program::{HeldProgram, Process};
use super::{Copier, Recording, RecordingConfig, RecordingOutcome};

/// How long after a signal the user is told that the command has not ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often processes that the command has left running are counted.
const LOOK_AT_PROCESSES_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// How often to look whether events cannot be copied, or the command does not end.
const LOOK_FOR_TROUBLE_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The exit statuses of `env` and shells.
pub mod status {
    /// The recording could not be started, and the command did not run.
    pub const NOT_RECORDED: u8 = 125;
    /// The file exists but cannot be executed.
    pub const NOT_EXECUTABLE: u8 = 126;
    /// There is no such program.
    pub const NOT_FOUND: u8 = 127;
}

/// Messages during a recording.
#[derive(Debug)]
pub enum Note {
    /// Events cannot be copied into the trace for now, and why; sent once.
    Trouble(String),
    /// The process has not ended although it was sent a signal.
    Lingers(u32),
    /// The command has ended, and that many of the processes that it has started have not.
    Remain(usize),
}

/// What a recording does when its command has ended and processes that it has started are running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Remaining {
    /// It ends.
    #[default]
    Leave,
    /// It continues until they have ended, at most that long, or until a signal.
    Stay(Option<Duration>),
}

/// A completed recording.
#[derive(Debug)]
pub struct Recorded {
    /// The result of the recording.
    pub ended: RecordingOutcome,
    /// How the command ended; `None` if it is still running, because two signals ended the recording.
    pub command: Option<End>,
}

/// The reason for which nothing was recorded.
#[derive(Debug)]
pub struct Refusal {
    /// The exit status for it.
    pub status: u8,
    /// The reason, with a remedy.
    pub why: anyhow::Error,
}

/// Records a command. The first signal that asks this process to stop is passed on to the command, and the recording
/// ends with the command, or with the processes that it leaves running. A second signal ends the recording at once, and
/// so does the first if the command has ended. The caller must have one thread only.
///
/// # Errors
/// [`Refusal`]: the command did not run, and nothing is left behind.
pub fn record(
    config: &RecordingConfig,
    command: &[OsString],
    remaining: Remaining,
    tell: &mut dyn FnMut(Note),
) -> Result<Recorded, Refusal> {
    let refuse = |why| Refusal { status: status::NOT_RECORDED, why };
    let stop = StopSignals::watch().map_err(|error| refuse(error.into()))?;
    if remaining != Remaining::Leave {
        Descendants::adopt().map_err(|error| refuse(error.into()))?;
    }
    let recording = Recording::begin(config).map_err(refuse)?;
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]).env(VARIABLE, recording.memory());
    let (copier, process, descendants) = start(recording, config, &mut program, &command[0])?;
    let command = follow(&copier, &process, &stop, tell);
    if let (Remaining::Stay(most), Some(_)) = (remaining, command) {
        stay(&copier, &descendants, most, &stop, tell);
    }
    Ok(Recorded { ended: copier.stop().end(), command })
}

/// Records a running process that accepts tracers, until it ends or this process is asked to stop; the process keeps
/// running then. The caller must have one thread only.
///
/// # Errors
/// The reason with a remedy; nothing is left behind.
pub fn attach(config: &RecordingConfig, pid: u32, tell: &mut dyn FnMut(Note)) -> anyhow::Result<Recorded> {
    let stop = StopSignals::watch()?;
    let process = Process::running(pid).with_context(|| format!("process {pid}"))?;
    let mut recording = Recording::begin(config)?;
    let attached = recording.watch(pid, config).and_then(|()| {
        listen::attach(pid, recording.memory()).map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused => anyhow!(
                "process {pid} lets no tracer in: it must be linked with headwater-trace and call \
                 headwater_trace::listen(), or run with {}=1; `trace record -- CMD` needs neither",
                listen::VARIABLE
            ),
            _ => anyhow!("process {pid} does not join: {error}"),
        })
    });
    if let Err(error) = attached {
        recording.undo();
        return Err(error);
    }
    let copier = Copier::start(recording)?;
    let command = follow(&copier, &process, &stop, tell);
    Ok(Recorded { ended: copier.stop().end(), command })
}

/// Starts the command when everything else has been started.
fn start(
    mut recording: Recording,
    config: &RecordingConfig,
    program: &mut Command,
    name: &OsString,
) -> Result<(Copier, Process, Descendants), Refusal> {
    let refuse = |why| Refusal { status: status::NOT_RECORDED, why };
    let held = HeldProgram::fork(program).map_err(anyhow::Error::from);
    let watched = held.and_then(|held| recording.watch(held.id(), config).map(|()| held));
    let held = match watched {
        Ok(held) => held,
        Err(error) => {
            recording.undo();
            return Err(refuse(error));
        }
    };
    // With those of the recording.
    let descendants = Descendants::of(held.id());
    let copier = Copier::start(recording).map_err(refuse)?;
    match held.release() {
        Ok(process) => Ok((copier, process, descendants)),
        Err(error) => {
            copier.stop().undo();
            let (status, remedy) = match error.kind() {
                io::ErrorKind::NotFound => {
                    (status::NOT_FOUND, "; check the name, which is looked for on PATH if it has no slash")
                }
                _ => (status::NOT_EXECUTABLE, ""),
            };
            Err(Refusal { status, why: anyhow!("cannot run {}: {error}{remedy}", name.display()) })
        }
    }
}

/// Waits until no process that the command has started is left, the time is over, or a signal has arrived.
fn stay(
    copier: &Copier,
    descendants: &Descendants,
    most: Option<Duration>,
    stop: &StopSignals,
    tell: &mut dyn FnMut(Note),
) {
    let start = Instant::now();
    let (mut told, mut empty_looks) = (false, 0);
    while stop.taken().is_none() && most.is_none_or(|most| start.elapsed() < most) {
        match descendants.count() {
            0 if empty_looks == 1 => return,
            0 => empty_looks += 1,
            count if !std::mem::replace(&mut told, true) => tell(Note::Remain(count)),
            _ => empty_looks = 0,
        }
        tell_of_trouble(copier, tell);
        let _ = poll(&mut [PollFd::new(stop, PollFlags::IN)], Some(&LOOK_AT_PROCESSES_EVERY));
    }
}

/// Waits until the process has ended, or two signals have arrived. Returns how it ended, if it has.
fn follow(copier: &Copier, process: &Process, stop: &StopSignals, tell: &mut dyn FnMut(Note)) -> Option<End> {
    let mut asked: Option<Instant> = None;
    let mut told_of_lingering = false;
    loop {
        // An interrupted poll counts as one that timed out.
        let mut awaited = [PollFd::new(stop, PollFlags::IN), PollFd::new(process, PollFlags::IN)];
        let _ = poll(&mut awaited, Some(&LOOK_FOR_TROUBLE_EVERY));
        while let Some((signal, from_kernel)) = stop.taken_with_sender() {
            if asked.replace(Instant::now()).is_some() || !process.is_child() {
                return process.end().ok().flatten();
            }
            // A signal from the terminal goes to all processes of the foreground group, and so to the command.
            if !from_kernel {
                process.signal(signal);
            }
        }
        if let Ok(Some(end)) = process.end() {
            return Some(end);
        }
        if !told_of_lingering && asked.is_some_and(|since| since.elapsed() > PATIENCE) {
            told_of_lingering = true;
            tell(Note::Lingers(process.id()));
        }
        tell_of_trouble(copier, tell);
    }
}

fn tell_of_trouble(copier: &Copier, tell: &mut dyn FnMut(Note)) {
    if let Some(trouble) = copier.take_trouble() {
        tell(Note::Trouble(trouble));
    }
}
