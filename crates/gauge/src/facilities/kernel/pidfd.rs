//! `pidfd-open`, `pidfd-send-signal`, `pidfd-poll`: a file descriptor for a sleeping child: opened and closed; used to
//! send signal 0; and polled, without waiting, for the child's exit.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_os::clock::sleep;
use headwater_os_tools::pidfd::{has_ended, send_nothing};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::facilities::operation::{Figure, Operation, fork_peer};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The call on the descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Open,
    SendSignal,
    Poll,
}

/// A process with a child.
#[derive(Debug)]
pub struct Pidfd {
    call: Call,
    child: Child,
    pid: Pid,
    descriptor: OwnedFd,
    /// A second child, which exits at once; only for the check.
    ended: Option<(Child, OwnedFd)>,
}

impl Operation for Pidfd {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("pidfd-open", "pidfd_open() of a child, and close()"),
        ("pidfd-send-signal", "pidfd_send_signal() of signal 0"),
        ("pidfd-poll", "poll() of a pidfd whose process has not ended"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<Pidfd, Unavailable> {
        let call = match job.row.subject.as_str() {
            "pidfd-open" => Call::Open,
            "pidfd-send-signal" => Call::SendSignal,
            _ => Call::Poll,
        };
        let child = fork_peer(job, || {
            loop {
                sleep(Duration::from_secs(3600));
            }
        })?;
        let ended = fork_peer(job, || Ok(()))?;
        let opened = |child: &Child| open(number(child)).map_err(|error| Unavailable::call("pidfd_open", error));
        let (descriptor, of_ended) = (opened(&child)?, opened(&ended)?);
        send_nothing(&descriptor).map_err(|error| Unavailable::call("pidfd_send_signal", error))?;
        Ok(Pidfd { call, pid: number(&child), child, descriptor, ended: Some((ended, of_ended)) })
    }

    fn check(&mut self) -> io::Result<()> {
        let before = has_ended(&self.descriptor)?;
        self.run(1)?;
        // `Child` waits for the ended child when it is dropped.
        let (_ended, descriptor) = self.ended.take().ok_or_else(|| io::Error::other("the check ran before"))?;
        poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], None)?;
        match (before, has_ended(&descriptor)?, self.child.try_wait()?) {
            (false, true, None) => Ok(()),
            other => Err(io::Error::other(format!("polls of a running and of an ended child answered {other:?}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        match self.call {
            Call::Open => (0..operations).try_for_each(|_| open(self.pid).map(drop)),
            Call::SendSignal => (0..operations).try_for_each(|_| send_nothing(&self.descriptor)),
            Call::Poll => (0..operations).try_for_each(|_| match has_ended(&self.descriptor)? {
                false => Ok(()),
                true => Err(io::Error::other("the child has ended")),
            }),
        }
    }
}

fn number(child: &Child) -> Pid {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a child has a number")
}

#[inline]
fn open(pid: Pid) -> io::Result<OwnedFd> {
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}
