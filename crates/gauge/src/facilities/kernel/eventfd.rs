//! `eventfd`, `eventfd-wake-rtt`: `eventfd(2)`. In the first row one process writes to an eventfd and reads it. In the
//! second, two processes wait in `read(2)` in turn, each on its own eventfd, and wake each other; the figure is the
//! round trip.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use headwater_os::child::Child;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

use super::switch_check::SwitchCheck;
use crate::facilities::operation::{Figure, Operation, fork_peer};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The process that writes first, and the process that answers, if any.
#[derive(Debug)]
pub struct Eventfd {
    answerer: Option<Child>,
    question: OwnedFd,
    /// The same eventfd as `question` if the operation has no second process.
    answer: OwnedFd,
}

impl Operation for Eventfd {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("eventfd", "write() to an eventfd and read() of it, one process"),
        ("eventfd-wake-rtt", "round trip of two processes that wait in read() of an eventfd and wake each other"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<Eventfd, Unavailable> {
        let make = || eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| Unavailable::call("eventfd", error));
        let question = make()?;
        if job.row.subject == "eventfd" {
            let answer = question.try_clone().map_err(|error| Unavailable::call("dup", error))?;
            return Ok(Eventfd { answerer: None, question, answer });
        }
        let answer = make()?;
        let answerer = fork_peer(job, || {
            loop {
                let count = take(&question)?;
                put(&answer, count)?;
            }
        })?;
        Ok(Eventfd { answerer: Some(answerer), question, answer })
    }

    fn check(&mut self) -> io::Result<()> {
        let switched = SwitchCheck::begin();
        for count in 1..=SwitchCheck::CHECKED {
            put(&self.question, count)?;
            let answer = take(&self.answer)?;
            if answer != count {
                return Err(io::Error::other(format!("{count} was written, and {answer} read")));
            }
        }
        if self.answerer.is_some() { switched.end() } else { Ok(()) }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            put(&self.question, 1)?;
            take(&self.answer)?;
        }
        Ok(())
    }
}

#[inline]
fn put(descriptor: impl AsFd, count: u64) -> io::Result<()> {
    // A write to an eventfd transfers all 8 bytes or none.
    write(descriptor, &count.to_ne_bytes())?;
    Ok(())
}

#[inline]
fn take(descriptor: impl AsFd) -> io::Result<u64> {
    let mut count = [0; 8];
    read(descriptor, &mut count)?;
    Ok(u64::from_ne_bytes(count))
}
