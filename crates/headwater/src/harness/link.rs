//! A line to one worker: requests one way, replies the other, and what it means when the line goes dead.

use std::fmt;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitStatus;

use headwater_os::child::Child;
use rustix::pipe::{PipeFlags, pipe_with};

use super::protocol::{Reply, Request, Role};

/// The most that one reply may take: a report with its stamps and histogram stays far below.
const REPLY_BYTES_MAX: usize = 16 << 20;

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
pub enum Silence {
    /// The worker's process ended.
    Died(ExitStatus),
    /// It sent something that is no reply.
    Nonsense(String),
    /// The line itself broke.
    Broken(io::Error),
}

impl fmt::Display for Silence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Silence::Died(status) => write!(formatter, "died ({status})"),
            Silence::Nonsense(what) => write!(formatter, "answered nonsense: {what}"),
            Silence::Broken(error) => write!(formatter, "cannot be reached: {error}"),
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
    /// [`Silence`] if nobody reads it any more.
    pub fn send(&mut self, request: &Request) -> Result<(), Silence> {
        let mut line = serde_json::to_vec(request).map_err(|error| Silence::Nonsense(error.to_string()))?;
        line.push(b'\n');
        let requests = self.requests.as_ref().ok_or_else(|| Silence::Broken(io::ErrorKind::NotConnected.into()))?;
        let mut rest = &line[..];
        while !rest.is_empty() {
            match rustix::io::write(requests, rest) {
                Ok(count) => rest = &rest[count..],
                Err(rustix::io::Errno::PIPE) => return Err(self.death()),
                Err(error) => return Err(Silence::Broken(error.into())),
            }
        }
        Ok(())
    }

    /// Takes in what has arrived; call it when the descriptor is readable. Answers with a reply once it is whole.
    ///
    /// # Errors
    /// [`Silence`] if the worker is gone or does not keep to the protocol.
    pub fn receive(&mut self) -> Result<Option<Reply>, Silence> {
        let mut piece = [0u8; 64 * 1024];
        match rustix::io::read(&self.replies, &mut piece) {
            Ok(0) => return Err(self.death()),
            Ok(count) => self.received.extend_from_slice(&piece[..count]),
            Err(error) => return Err(Silence::Broken(error.into())),
        }
        let Some(end) = self.received.iter().position(|&byte| byte == b'\n') else {
            if self.received.len() > REPLY_BYTES_MAX {
                return Err(Silence::Nonsense(format!("a line of more than {REPLY_BYTES_MAX} bytes")));
            }
            return Ok(None);
        };
        let line: Vec<u8> = self.received.drain(..=end).collect();
        match serde_json::from_slice(&line) {
            Ok(reply) => Ok(Some(reply)),
            Err(error) => {
                let text = String::from_utf8_lossy(&line[..line.len().min(80)]).trim_end().to_owned();
                Err(Silence::Nonsense(format!("{error} in {text:?}")))
            }
        }
    }

    /// Says that nothing more will come; a worker that waits for a request then ends.
    pub fn hang_up(&mut self) {
        self.requests = None;
    }

    /// Waits for the worker's end.
    ///
    /// # Errors
    /// What `waitpid(2)` reports.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait()
    }

    fn death(&mut self) -> Silence {
        match self.process.wait() {
            Ok(status) => Silence::Died(status),
            Err(error) => Silence::Broken(error),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.process.kill();
    }
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
