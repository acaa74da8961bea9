//! The process that starts the command and times it. `headwater` starts it for each launch, under another tracer if the
//! configuration names one. It reports that it is ready, waits for the request to begin, and answers with the resources
//! that the command used. So the figure includes neither its own start nor that of a tracer.
// Its parent reads what it prints.
#![allow(clippy::print_stdout)]

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::trace::BUFFER_BYTES;
use headwater_gauge::facilities::trace::recorded;
use headwater_os::child::{self, die_with, kill_group};
use headwater_os_tools::signal::{StopSignals, unblock_stop_signals};
use headwater_os_tools::usage::Usage;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use headwater_trace::session::VARIABLE;

/// The work to be timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A command, with the directory in which it runs; the current one if absent.
    Command {
        /// Program and arguments.
        words: Vec<String>,
        /// The working directory.
        directory: Option<PathBuf>,
    },
    /// Calls of getppid for a given time.
    Calls {
        /// The time, s.
        time_s: f64,
    },
    /// Events of the tracer, in bursts. The events are copied in pauses, which do not count.
    Events,
}

/// The request to the process, read from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedRequest {
    /// The work.
    pub task: Task,
    /// The file for its standard error.
    pub errors: PathBuf,
}

/// The resources that the work used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// Wall time, s.
    pub elapsed_s: f64,
    /// CPU time in user mode of the command and of the children that it waited for, s.
    pub user_s: f64,
    /// CPU time in the kernel, s.
    pub system_s: f64,
    /// Calls of getppid, or events.
    pub calls: u64,
    /// The exit code; `None` if a signal killed the command.
    pub code: Option<i32>,
}

/// The reason for which there is no figure.
#[derive(Debug)]
pub enum Failure {
    /// A signal asked this process to stop.
    Stopped(i32),
    /// An error, in words.
    Failed(String),
}

/// The name of the hidden subcommand that runs this process.
pub const TIMED: &str = "timed";
const READY: &str = "headwater: ready";
const TOOK: &str = "headwater: took ";

/// How long a tracer may take to start the process, and to end after it.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the processes have to end after a request, before they are killed.
const GRACE: Duration = Duration::from_secs(3);

/// Calls of getppid between two reads of the clock.
const CALLS: u64 = 200;

/// Events of a burst: a quarter of a buffer.
const EVENTS: u64 = (BUFFER_BYTES / 4 / EVENT_BYTES) as u64;
/// Bursts: half a million events.
const BURSTS: u64 = 16;
/// Bytes of one record.
const EVENT_BYTES: usize = 32;
/// The pause between bursts, so that the events between two checks of the consumer fit the buffer.
const BETWEEN: Duration = Duration::from_millis(6);

/// The main function of the process.
///
/// # Errors
/// Errors of files and of standard input and output.
pub fn serve(file: &Path, parent: Option<u32>) -> io::Result<()> {
    // Under a tracer the parent process is the tracer.
    die_with(parent.unwrap_or_else(std::os::unix::process::parent_id));
    unblock_stop_signals();
    let order: TimedRequest = serde_json::from_slice(&std::fs::read(file)?)?;
    println!("{READY}");
    let mut go = String::new();
    if io::stdin().lock().read_line(&mut go)? == 0 {
        // The process that would send the request has died.
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let timed = match &order.task {
        Task::Command { words, directory } => run(words, directory.as_deref(), &order.errors)?,
        Task::Calls { time_s } => call(Duration::from_secs_f64(*time_s)),
        Task::Events => emit(),
    };
    println!("{TOOK}{}", serde_json::to_string(&timed)?);
    Ok(())
}

fn run(words: &[String], directory: Option<&Path>, errors: &Path) -> io::Result<Timed> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(errors)?);
    directory.map(|directory| command.current_dir(directory));
    let (start, before) = (Instant::now(), Usage::of_children());
    let mut running = child::Child::fork(|| {
        let error = command.exec();
        // No other process reads it.
        let _ = std::fs::write(errors, format!("{program}: {error}\n"));
        127
    })?;
    let status = running.wait()?;
    let elapsed_s = start.elapsed().as_secs_f64();
    let Usage { user_s, system_s, .. } = Usage::of_children().since(&before);
    Ok(Timed { elapsed_s, user_s, system_s, calls: 0, code: status.code() })
}

fn call(time: Duration) -> Timed {
    let (start, before, mut calls) = (Instant::now(), Usage::of_process(), 0);
    while start.elapsed() < time {
        for _ in 0..CALLS {
            std::hint::black_box(rustix::process::getppid());
        }
        calls += CALLS;
    }
    timed(start.elapsed(), &before, calls)
}

fn emit() -> Timed {
    // The first event joins the session.
    recorded(0, 1, 2);
    let (mut took, before) = (Duration::ZERO, Usage::of_process());
    for _ in 0..BURSTS {
        std::thread::sleep(BETWEEN);
        let start = Instant::now();
        for number in 0..EVENTS {
            recorded(std::hint::black_box(number), 1, 2);
        }
        took += start.elapsed();
    }
    timed(took, &before, BURSTS * EVENTS)
}

fn timed(elapsed: Duration, before: &Usage, calls: u64) -> Timed {
    let Usage { user_s, system_s, .. } = Usage::of_process().since(before);
    Timed { elapsed_s: elapsed.as_secs_f64(), user_s, system_s, calls, code: Some(0) }
}

/// The starter's view of such a process. Dropping it ends the process group: with SIGTERM first, because a tracer may
/// have to undo settings, then with SIGKILL.
#[derive(Debug)]
pub struct Running {
    child: std::process::Child,
    /// The position after the last line that was read.
    heard: Vec<u8>,
    ended: bool,
}

impl Running {
    /// Starts the process, or a tracer that starts it, by this command line, and waits until it is ready. The process
    /// and its children can join the session of that memory; `said` receives standard error.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn start(
        words: &[String],
        session: Option<&Path>,
        said: &Path,
        stop: &StopSignals,
    ) -> Result<Running, Failure> {
        let failed = |error: io::Error| Failure::Failed(format!("cannot start {}: {error}", words[0]));
        let child = Command::new(&words[0])
            .args(&words[1..])
            .envs(session.map(|memory| (VARIABLE, memory)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(said).map_err(failed)?)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut running = Running { child, heard: Vec::new(), ended: false };
        running.line(READY, stop, Some(PATIENCE)).map(|_| running)
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to begin and waits for its answer, without a time limit.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn time(&mut self, stop: &StopSignals) -> Result<Timed, Failure> {
        let told = self.child.stdin.take().map(|mut input| input.write_all(b"go\n"));
        if !matches!(told, Some(Ok(()))) {
            return Err(Failure::Failed("it did not wait to be told".to_owned()));
        }
        let line = self.line(TOOK, stop, None)?;
        serde_json::from_str(&line).map_err(|error| Failure::Failed(format!("no answer: {error}")))
    }

    /// Waits until all processes have ended, and kills the remaining ones.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn end(mut self, stop: &StopSignals) -> Result<(), Failure> {
        let rest = self.line("\0", stop, Some(PATIENCE));
        if let Err(stopped @ Failure::Stopped(_)) = rest {
            return Err(stopped);
        }
        let status = self.child.wait();
        self.ended = true;
        kill_group(self.child.id());
        status.map(drop).map_err(|error| Failure::Failed(error.to_string()))
    }

    /// Returns the rest of the next line with that prefix; other lines come from a tracer.
    fn line(&mut self, begins: &str, stop: &StopSignals, patience: Option<Duration>) -> Result<String, Failure> {
        let deadline = patience.map(|patience| Instant::now() + patience);
        loop {
            while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                if let Some(rest) = String::from_utf8_lossy(&line).trim_end().strip_prefix(begins) {
                    return Ok(rest.to_owned());
                }
            }
            let Some(output) = self.child.stdout.as_mut() else { return Err(Failure::Failed("no output".to_owned())) };
            let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout =
                rest.map(|rest| Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: rest.subsec_nanos().into() });
            let mut polled =
                [PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
            match poll(&mut polled, timeout.as_ref()) {
                Ok(0) if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                    return Err(Failure::Failed("it kept silent and was killed".to_owned()));
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Failure::Failed(format!("poll: {error}"))),
            }
            let (has_output, has_stop) = (!polled[0].revents().is_empty(), !polled[1].revents().is_empty());
            if has_stop && let Some(signal) = stop.taken() {
                return Err(Failure::Stopped(signal));
            }
            if has_output {
                let mut piece = [0; 4096];
                match output.read(&mut piece) {
                    Ok(0) => return Err(Failure::Failed("it ended without an answer".to_owned())),
                    Ok(count) => self.heard.extend_from_slice(&piece[..count]),
                    Err(error) => return Err(Failure::Failed(error.to_string())),
                }
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::TERM);
            }
            let deadline = Instant::now() + GRACE;
            while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
            kill_group(self.child.id());
            let _ = self.child.wait();
        }
    }
}
