//! `event-off`: an event of three fields that no session wants: a load and a branch.

use std::hint::black_box;
use std::io;

use super::session::{CHECKED, Joined, Whose, off};
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A process in a session of its own.
#[derive(Debug)]
pub struct EventOff(Joined);

impl Operation for EventOff {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("event-off", "an event of a program that is switched off")];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<EventOff, Unavailable> {
        Joined::new(job, Whose::Cpu).map(EventOff)
    }

    fn check(&mut self) -> io::Result<()> {
        self.run(CHECKED)?;
        self.0.check(0)
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for number in 0..operations {
            off(black_box(number), 1, 2);
        }
        Ok(())
    }
}
