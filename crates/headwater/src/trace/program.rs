//! The program to record: stopped before its first instruction, so that a session can be set up for its process, and
//! then observed. It is never killed: it keeps running if the recorder fails or is killed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use headwater_os::child::Child;
use headwater_os_tools::signal::unblock_stop_signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};

/// The exit code of a child that could not execute the program; no process reads it.
const NOT_STARTED: i32 = 127;

/// A child process that has not executed the program yet. Dropping it ends the process.
#[derive(Debug)]
pub struct HeldProgram {
    process: Process,
    /// A pipe to the child: one byte makes the child execute the program, end of file makes it exit.
    start: OwnedFd,
    /// A pipe with the error of `execve`; end of file means that the program runs.
    exec_error: OwnedFd,
}

/// A process that is observed.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    /// Readable when the process has ended.
    descriptor: OwnedFd,
    /// Whether it is a child, for which this process can wait.
    is_child: bool,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited with that status.
    Exit(u8),
    /// A signal killed it.
    Signal(u8),
}

impl End {
    /// Returns the exit status by which shells report it.
    pub fn status(self) -> u8 {
        match self {
            End::Exit(status) => status,
            End::Signal(number) => 128_u8.saturating_add(number),
        }
    }
}

impl HeldProgram {
    /// Forks the process. The caller must have one thread only.
    ///
    /// # Errors
    /// Errors of `pipe2(2)`, `fork(2)` and `pidfd_open(2)`.
    pub fn fork(command: &mut Command) -> io::Result<HeldProgram> {
        let (told, start) = pipe_with(PipeFlags::CLOEXEC)?;
        let (exec_error, teller) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut start = Some(start);
        let child = Child::fork_apart(|| {
            // If the child kept its copy, it would not see that the recorder has died.
            drop(start.take());
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
        let start = start.expect("only the child drops it");
        Ok(HeldProgram { process: Process { pid, descriptor, is_child: true }, start, exec_error })
    }

    /// Returns the process id, which the program keeps.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Makes the child execute the program.
    ///
    /// # Errors
    /// The error of `execve(2)`: `NotFound` if there is no such program.
    pub fn release(self) -> io::Result<Process> {
        let HeldProgram { process, start, exec_error } = self;
        let mut number = [0; 4];
        rustix::io::write(&start, b"g")?;
        loop {
            match rustix::io::read(&exec_error, &mut number) {
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

/// Waits for the byte; returns false at end of file.
fn wait_for_byte(source: &OwnedFd) -> bool {
    loop {
        match rustix::io::read(source, &mut [0; 1]) {
            Err(rustix::io::Errno::INTR) => {}
            done => return done == Ok(1),
        }
    }
}

impl Process {
    /// Opens a running process that is not a child.
    ///
    /// # Errors
    /// `NotFound` if no process has that id.
    pub fn running(pid: u32) -> io::Result<Process> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let descriptor = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| match error {
            rustix::io::Errno::SRCH => io::Error::new(io::ErrorKind::NotFound, "there is none with that id"),
            error => io::Error::from(error),
        })?;
        Ok(Process { pid, descriptor, is_child: false })
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Sends the process a signal; does nothing if it has ended.
    pub fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            let _ = kill_process(self.pid, signal);
        }
    }

    /// Returns whether the process is a child that runs the command.
    pub fn is_child(&self) -> bool {
        self.is_child
    }

    /// Returns how it ended, if it has. The status of a process that is not a child is unknown, and counts as success.
    ///
    /// # Errors
    /// Errors of `waitpid(2)`.
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
