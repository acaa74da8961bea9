//! The program that is recorded: held before it begins, so that a session can be set up for its process, and then watched. It
//! is never killed: a recorder that fails or is killed does not take it along.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use headwater_os::child::Child;
use headwater_os_tools::signal::unblock_stop_signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};

/// How a child ends that could not become the program; nobody sees it.
const NOT_STARTED: i32 = 127;

/// A process that has not become the program yet. Dropped, it ends.
#[derive(Debug)]
pub struct HeldProgram {
    process: Process,
    /// A byte lets it go; its end makes the process end.
    line: OwnedFd,
    /// What stood in the way of the program; its end means that it runs.
    news: OwnedFd,
}

/// A process that is watched.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    /// Readable when it has ended.
    descriptor: OwnedFd,
    /// Whether it is ours to wait for.
    is_child: bool,
}

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with that status.
    Exit(u8),
    /// By a signal.
    Signal(u8),
}

impl End {
    /// The exit status that says it, as shells do.
    pub fn status(self) -> u8 {
        match self {
            End::Exit(status) => status,
            End::Signal(number) => 128_u8.saturating_add(number),
        }
    }
}

impl HeldProgram {
    /// Makes the process. The caller has one thread.
    ///
    /// # Errors
    /// What `pipe2(2)`, `fork(2)` and `pidfd_open(2)` report.
    pub fn fork(command: &mut Command) -> io::Result<HeldProgram> {
        let (told, line) = pipe_with(PipeFlags::CLOEXEC)?;
        let (news, teller) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut line = Some(line);
        let child = Child::fork_apart(|| {
            // Its own copy would hide the end of the recorder.
            drop(line.take());
            if wait_for_byte(&told) {
                unblock_stop_signals();
                let error = command.exec();
                let number = error.raw_os_error().unwrap_or(0);
                let _ = rustix::io::write(&teller, &number.to_ne_bytes());
            }
            NOT_STARTED
        })?;
        let pid = i32::try_from(child).ok().and_then(Pid::from_raw).expect("a child has an id");
        let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
        let line = line.expect("only the child drops it");
        Ok(HeldProgram { process: Process { pid, descriptor, is_child: true }, line, news })
    }

    /// Its id, which the program will have.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Lets it become the program.
    ///
    /// # Errors
    /// What `execve(2)` reports: `NotFound` if there is no such program.
    pub fn release(self) -> io::Result<Process> {
        let HeldProgram { process, line, news } = self;
        let mut number = [0; 4];
        rustix::io::write(&line, b"g")?;
        loop {
            match rustix::io::read(&news, &mut number) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) => return Ok(process),
                _ => {
                    let _ = waitpid(Some(process.pid), WaitOptions::empty());
                    return Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number)));
                }
            }
        }
    }
}

/// Whether there was a byte, and not the end.
fn wait_for_byte(source: &OwnedFd) -> bool {
    loop {
        match rustix::io::read(source, &mut [0; 1]) {
            Err(rustix::io::Errno::INTR) => {}
            done => return done == Ok(1),
        }
    }
}

impl Process {
    /// Somebody else's, which runs already.
    ///
    /// # Errors
    /// `NotFound` if there is none with that id.
    pub fn running(pid: u32) -> io::Result<Process> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let descriptor = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| match error {
            rustix::io::Errno::SRCH => io::Error::new(io::ErrorKind::NotFound, "there is none with that id"),
            error => io::Error::from(error),
        })?;
        Ok(Process { pid, descriptor, is_child: false })
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Sends it a signal; nothing happens if it has ended.
    pub fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            let _ = kill_process(self.pid, signal);
        }
    }

    /// Whether it is a command of ours.
    pub fn is_child(&self) -> bool {
        self.is_child
    }

    /// How it has ended, if it has. Of somebody else's that is not told: then as if well.
    ///
    /// # Errors
    /// What `waitpid(2)` reports.
    pub fn end(&self) -> io::Result<Option<End>> {
        if !self.is_child {
            let mut ended = [PollFd::new(&self.descriptor, PollFlags::IN)];
            poll(&mut ended, Some(&Timespec::default()))?;
            return Ok((!ended[0].revents().is_empty()).then_some(End::Exit(0)));
        }
        let Some((_, status)) = waitpid(Some(self.pid), WaitOptions::NOHANG)? else { return Ok(None) };
        let signal = status.terminating_signal().map(|number| End::Signal(number as u8));
        Ok(signal.or_else(|| status.exit_status().map(|status| End::Exit(status as u8))))
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
