//! `event-text`: an event of a number and a text of 16 bytes, in the log of the CPU.

use std::hint::black_box;
use std::io;

use super::session::{CHECKED, Joined, Whose, with_text};
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A process in a session of its own.
#[derive(Debug)]
pub struct EventText(Joined);

impl Operation for EventText {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("event-text", "a recorded event of a number and a text of 16 bytes")];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<EventText, Unavailable> {
        Joined::new(job, Whose::Cpu).map(EventText)
    }

    fn check(&mut self) -> io::Result<()> {
        self.run(CHECKED)?;
        self.0.check(CHECKED)
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for number in 0..operations {
            with_text(black_box(number), black_box("sixteen letters."));
        }
        Ok(())
    }
}
