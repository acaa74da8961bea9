//! `event-own-log`: the same event in the log of the thread, as where there are no restartable sequences.

use std::hint::black_box;
use std::io;

use super::session::{CHECKED, Joined, Whose, recorded};
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A process in a session of its own.
#[derive(Debug)]
pub struct EventOwnLog(Joined);

impl Operation for EventOwnLog {
    const ROWS: &'static [(&'static str, &'static str)] = &[("event-own-log", "the same in a log of the thread")];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<EventOwnLog, Unavailable> {
        Joined::new(job, Whose::Thread).map(EventOwnLog)
    }

    fn check(&mut self) -> io::Result<()> {
        self.run(CHECKED)?;
        self.0.check(CHECKED)
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for number in 0..operations {
            recorded(black_box(number), 1, 2);
        }
        Ok(())
    }
}
