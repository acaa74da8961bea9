//! The conductor's connection to one worker: a pipe for requests, a pipe for replies, and the error when the worker
//! stops answering.

use std::fmt;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use rustix::pipe::{PipeFlags, pipe_with};

use super::protocol::{Reply, Request, Role};

/// The maximum size of a reply; a report with its stamps and histogram is far smaller.
const REPLY_BYTES_MAX: usize = 16 << 20;

/// How long an external program may take to exit after its line was closed. It may have to remove files and shared
/// memory, which a kill would leave behind. docs/external-transports.md promises this time.
const GRACE: Duration = Duration::from_secs(1);

/// The interval at which an expected exit is polled; only while nothing is timed.
const END_POLL: Duration = Duration::from_millis(1);

/// The process of a worker.
#[derive(Debug)]
pub enum Process {
    /// A process that the conductor forked.
    Forked(Child),
    /// An external program.
    Started(std::process::Child),
}

impl Process {
    /// Returns the process id.
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

    /// Waits for the exit status until `deadline`; `None` if the process has not ended by then.
    fn wait_until(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        loop {
            let status = self.try_wait()?;
            if status.is_some() || Instant::now() >= deadline {
                return Ok(status);
            }
            std::thread::sleep(END_POLL);
        }
    }

    /// Kills the process and waits for it.
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

/// The worker's two file descriptors of the connection.
#[derive(Debug)]
pub struct WorkerSide {
    /// The pipe from which the worker reads requests.
    pub requests: OwnedFd,
    /// The pipe to which the worker writes replies.
    pub replies: OwnedFd,
}

/// The conductor's side of the connection.
#[derive(Debug)]
pub struct Link {
    /// The role of the worker.
    pub role: Role,
    process: Process,
    requests: Option<OwnedFd>,
    replies: OwnedFd,
    received: Vec<u8>,
}

/// The reason for which a worker gave no valid reply.
#[derive(Debug)]
pub enum LinkError {
    /// The worker's process has ended.
    Died(ExitStatus),
    /// The worker sent a line that is not a reply.
    Nonsense(String),
    /// The worker closed its pipe but is still alive.
    HungUp,
    /// A system call on the pipe failed.
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
    /// Makes both pipes. The worker's side goes to the worker, the other descriptors to [`Link::new`].
    ///
    /// # Errors
    /// Errors of `pipe(2)`.
    pub fn descriptors() -> io::Result<(WorkerSide, OwnedFd, OwnedFd)> {
        let (requests, to_worker) = pipe_with(PipeFlags::CLOEXEC)?;
        let (from_worker, replies) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok((WorkerSide { requests, replies }, to_worker, from_worker))
    }

    /// Makes the connection to `process` from the conductor's file descriptors.
    pub fn new(role: Role, process: Process, to_worker: OwnedFd, from_worker: OwnedFd) -> Link {
        Link { role, process, requests: Some(to_worker), replies: from_worker, received: Vec::new() }
    }

    /// Returns the worker's process.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Returns the worker's process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request.
    ///
    /// # Errors
    /// [`LinkError`] if the worker no longer reads.
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

    /// Reads the available data; to be called when the descriptor is readable. Returns a reply once its line is
    /// complete.
    ///
    /// # Errors
    /// [`LinkError`] if the worker is gone or violates the protocol.
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

    /// Closes the request pipe; a worker that waits for a request then ends.
    pub fn hang_up(&mut self) {
        self.requests = None;
    }

    /// Waits for the worker's exit status until `deadline`; `None` if it has not ended by then.
    ///
    /// # Errors
    /// Errors of `waitpid(2)`.
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
            // The process is killed below in any case.
            let _ = self.process.wait_until(Instant::now() + GRACE);
        }
        self.process.kill();
    }
}

/// Returns the beginning of the bytes that a worker sent, for a message to the user.
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

/// Writes one reply, on the worker's side.
///
/// # Errors
/// Errors of `write(2)`.
pub fn answer(out: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}
