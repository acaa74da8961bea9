//! `event`: an event of three fields, recorded in the log of the CPU by a restartable sequence.

use std::hint::black_box;
use std::io;

use super::session::{CHECKED, Joined, Whose, recorded};
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A process in a session of its own.
#[derive(Debug)]
pub struct EventOn(Joined);

impl Operation for EventOn {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("event", "a recorded event of three fields, in the log of the CPU")];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<EventOn, Unavailable> {
        Joined::new(job, Whose::Cpu).map(EventOn)
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
