//! `fork-100`: `fork(2)`, immediate exit of the child and `waitpid(2)`, in a process that holds both ends of 100 open
//! channels. The row `fork` of `lmbench` is the same without channels.

use std::io;

use headwater_os_tools::spawn::fork_and_wait;

use super::Opening;
use crate::facilities::operation::{self, Figure, Operation, entry};
use crate::facilities::{Entry, Info};
use crate::harness::conduct::Job;
use crate::transports::{Transport, Unavailable, pipe, streams, unix};

/// Number of open channels.
const CHANNELS: usize = 100;

/// A process that holds many channels and forks.
pub struct Fork<T: Transport> {
    channels: Vec<(T::End, T::End)>,
}

impl<T: Transport> Operation for Fork<T> {
    const ROWS: &'static [(&'static str, &'static str)] = &[(T::INFO.name, T::INFO.summary)];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<Self, Unavailable> {
        let opening = Opening::of(job, 1);
        let channels = (0..CHANNELS).map(|_| T::open(&opening.setup())).collect::<Result<_, _>>()?;
        Ok(Fork { channels })
    }

    fn check(&mut self) -> io::Result<()> {
        const CODE: i32 = 42;
        match fork_and_wait(CODE)? {
            status if status.code() == Some(CODE) && self.channels.len() == CHANNELS => Ok(()),
            other => Err(io::Error::other(format!("a child should have exited with {CODE}, but ended with {other}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            fork_and_wait(0)?;
        }
        Ok(())
    }
}

/// The facility in the table.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "fork-100",
        definition_version: |_| 1,
        summary: "fork() and exit of the child by a process that holds both ends of 100 open channels",
    },
    subjects: || operation::subjects(TABLE),
    accepts: |_| Ok(()),
    cost: |subject| operation::cost(TABLE, subject),
    probe: |job| operation::probe(TABLE, job),
    conduct: |job| operation::conduct(TABLE, job),
};

static TABLE: &[operation::Entry] =
    &[entry::<Fork<pipe::Pipe>>(), entry::<Fork<unix::UnixStream>>(), entry::<Fork<streams::window::Pipe>>()];
