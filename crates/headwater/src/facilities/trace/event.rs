//! `event-off`, `event`, `event-own-log`, `event-text`: an event of a program that is switched off, and recorded in the ways
//! that there are. A new one is a type here and a line in the table.

use std::fmt::Debug;
use std::hint::black_box;
use std::io;
use std::marker::PhantomData;

use super::session::{CHECKED, JoinedSession, LogOwner, off, recorded, with_text};
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// One of them.
pub trait TracedEvent: Debug + 'static {
    /// Its name and what it is.
    const ROW: (&'static str, &'static str);
    /// Which logs the session has.
    const WHOSE: LogOwner = LogOwner::Cpu;
    /// Whether the session wants it.
    const IS_RECORDED: bool = true;

    /// The event, with a number that the compiler does not know.
    fn hit(number: u64);
}

/// An event of three fields that no session wants: a load and a branch.
#[derive(Debug)]
pub struct Off;

impl TracedEvent for Off {
    const ROW: (&'static str, &'static str) = ("event-off", "an event of a program that is switched off");
    const IS_RECORDED: bool = false;

    #[inline(always)]
    fn hit(number: u64) {
        off(number, 1, 2);
    }
}

/// An event of three fields, recorded in the log of the CPU by a restartable sequence.
#[derive(Debug)]
pub struct OfCpu;

impl TracedEvent for OfCpu {
    const ROW: (&'static str, &'static str) = ("event", "a recorded event of three fields, in the log of the CPU");

    #[inline(always)]
    fn hit(number: u64) {
        recorded(number, 1, 2);
    }
}

/// The same event in the log of the thread, as where there are no restartable sequences.
#[derive(Debug)]
pub struct OfThread;

impl TracedEvent for OfThread {
    const ROW: (&'static str, &'static str) = ("event-own-log", "the same in a log of the thread");
    const WHOSE: LogOwner = LogOwner::Thread;

    #[inline(always)]
    fn hit(number: u64) {
        recorded(number, 1, 2);
    }
}

/// An event of a number and a text of 16 bytes, in the log of the CPU.
#[derive(Debug)]
pub struct Text;

impl TracedEvent for Text {
    const ROW: (&'static str, &'static str) = ("event-text", "a recorded event of a number and a text of 16 bytes");

    #[inline(always)]
    fn hit(number: u64) {
        with_text(number, black_box("sixteen letters."));
    }
}

/// A process in a session of its own.
#[derive(Debug)]
pub struct Event<H>(JoinedSession, PhantomData<H>);

impl<H: TracedEvent> Operation for Event<H> {
    const ROWS: &'static [(&'static str, &'static str)] = &[H::ROW];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<Event<H>, Unavailable> {
        Ok(Event(JoinedSession::new(job, H::WHOSE)?, PhantomData))
    }

    fn check(&mut self) -> io::Result<()> {
        self.run(CHECKED)?;
        self.0.check(if H::IS_RECORDED { CHECKED } else { 0 })
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for number in 0..operations {
            H::hit(black_box(number));
        }
        Ok(())
    }
}
