//! A line to one worker: requests one way, replies the other, and what it means when the line goes dead.

use std::fmt;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use rustix::pipe::{PipeFlags, pipe_with};

use super::protocol::{Reply, Request, Role};

/// The most that one reply may take: a report with its stamps and histogram stays far below.
const REPLY_BYTES_MAX: usize = 16 << 20;

/// How long a program of someone else's may take to end once its line is closed: it may have files and shared memory to
/// remove, which a kill would leave behind. docs/external-transports.md promises it.
const GRACE: Duration = Duration::from_secs(1);

/// How often an end that is near is asked for. Never while anything is timed.
const END_POLL: Duration = Duration::from_millis(1);

/// A worker's process, whichever way it was started.
#[derive(Debug)]
pub enum Process {
    /// Forked by the conductor.
    Forked(Child),
    /// A program of someone else's.
    Started(std::process::Child),
}

impl Process {
    /// Its process id.
    pub fn id(&self) -> u32 {
        match self {
            Process::Forked(child) => child.id(),
            Process::Started(child) => child.id(),
        }
    }

    fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Process::Forked(child) => child.wait(),
            Process::Started(child) => child.wait(),
        }
    }

    fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Process::Forked(child) => child.try_wait(),
            Process::Started(child) => child.try_wait(),
        }
    }

    /// Its status once it ends, none if it has not by `deadline`.
    fn wait_until(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        loop {
            let status = self.try_wait()?;
            if status.is_some() || Instant::now() >= deadline {
                return Ok(status);
            }
            std::thread::sleep(END_POLL);
        }
    }

    /// Kills it and waits for its end.
    pub fn kill(&mut self) {
        match self {
            Process::Forked(child) => child.kill(),
            Process::Started(child) => {
                let _ = child.kill();
            }
        }
        let _ = self.wait();
    }
}

/// The two descriptors at a worker's side of the line.
#[derive(Debug)]
pub struct WorkerSide {
    /// Where requests come from.
    pub requests: OwnedFd,
    /// Where replies go.
    pub replies: OwnedFd,
}

/// The conductor's side.
#[derive(Debug)]
pub struct Link {
    /// What the worker at the other side plays.
    pub role: Role,
    process: Process,
    requests: Option<OwnedFd>,
    replies: OwnedFd,
    received: Vec<u8>,
}

/// Why a line gave no reply.
#[derive(Debug)]
pub enum LinkError {
    /// The worker's process ended.
    Died(ExitStatus),
    /// It sent something that is no reply.
    Nonsense(String),
    /// It closed its end of the line and lives on.
    HungUp,
    /// The line itself broke.
    Broken(io::Error),
}

impl fmt::Display for LinkError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Died(status) => write!(formatter, "died ({status})"),
            LinkError::Nonsense(what) => write!(formatter, "answered nonsense: {what}"),
            LinkError::HungUp => formatter.write_str("closed its standard input or output and lives on"),
            LinkError::Broken(error) => write!(formatter, "cannot be reached: {error}"),
        }
    }
}

impl Link {
    /// Makes the descriptors of a line; the worker's side goes to the worker, the rest to [`Link::new`].
    ///
    /// # Errors
    /// What `pipe(2)` reports.
    pub fn descriptors() -> io::Result<(WorkerSide, OwnedFd, OwnedFd)> {
        let (requests, to_worker) = pipe_with(PipeFlags::CLOEXEC)?;
        let (from_worker, replies) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok((WorkerSide { requests, replies }, to_worker, from_worker))
    }

    /// A line to `process` over the conductor's descriptors.
    pub fn new(role: Role, process: Process, to_worker: OwnedFd, from_worker: OwnedFd) -> Link {
        Link { role, process, requests: Some(to_worker), replies: from_worker, received: Vec::new() }
    }

    /// The worker's process.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request.
    ///
    /// # Errors
    /// [`LinkError`] if nobody reads it any more.
    pub fn send(&mut self, request: &Request) -> Result<(), LinkError> {
        if !self.received.is_empty() {
            let text = excerpt(&self.received);
            return Err(LinkError::Nonsense(format!("{text:?} came before it was asked for")));
        }
        let mut line = serde_json::to_vec(request).map_err(|error| LinkError::Nonsense(error.to_string()))?;
        line.push(b'\n');
        let requests = self.requests.as_ref().ok_or_else(|| LinkError::Broken(io::ErrorKind::NotConnected.into()))?;
        let mut rest = &line[..];
        while !rest.is_empty() {
            match rustix::io::write(requests, rest) {
                Ok(count) => rest = &rest[count..],
                Err(rustix::io::Errno::PIPE) => return Err(self.death()),
                Err(error) => return Err(LinkError::Broken(error.into())),
            }
        }
        Ok(())
    }

    /// Takes in what has arrived; call it when the descriptor is readable. Answers with a reply once it is whole.
    ///
    /// # Errors
    /// [`LinkError`] if the worker is gone or does not keep to the protocol.
    pub fn receive(&mut self) -> Result<Option<Reply>, LinkError> {
        let mut piece = [0u8; 64 * 1024];
        match rustix::io::read(&self.replies, &mut piece) {
            Ok(0) => return Err(self.death()),
            Ok(count) => self.received.extend_from_slice(&piece[..count]),
            Err(error) => return Err(LinkError::Broken(error.into())),
        }
        let Some(end) = self.received.iter().position(|&byte| byte == b'\n') else {
            if self.received.len() > REPLY_BYTES_MAX {
                return Err(LinkError::Nonsense(format!("a line of more than {REPLY_BYTES_MAX} bytes")));
            }
            return Ok(None);
        };
        let line: Vec<u8> = self.received.drain(..=end).collect();
        match serde_json::from_slice(&line) {
            Ok(reply) => Ok(Some(reply)),
            Err(error) => Err(LinkError::Nonsense(format!("{error} in {:?}", excerpt(&line)))),
        }
    }

    /// Says that nothing more will come; a worker that waits for a request then ends.
    pub fn hang_up(&mut self) {
        self.requests = None;
    }

    /// The worker's status once it ends, none if it has not by `deadline`.
    ///
    /// # Errors
    /// What `waitpid(2)` reports.
    pub fn wait_until(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        self.process.wait_until(deadline)
    }

    fn death(&mut self) -> LinkError {
        match self.process.wait_until(Instant::now() + GRACE) {
            Ok(Some(status)) => LinkError::Died(status),
            Ok(None) => LinkError::HungUp,
            Err(error) => LinkError::Broken(error),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.hang_up();
        if let Process::Started(_) = self.process {
            // Whatever it says, the kill below is the last word.
            let _ = self.process.wait_until(Instant::now() + GRACE);
        }
        self.process.kill();
    }
}

/// The beginning of what a worker sent, for a message to the user.
pub fn excerpt(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).trim_end().to_owned();
    if bytes.len() > 80 {
        text.push_str("...");
    }
    text
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.replies.as_fd()
    }
}

/// Writes one reply from the worker's side.
///
/// # Errors
/// What `write(2)` reports.
pub fn answer(out: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}
