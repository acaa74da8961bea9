//! `event-off`, `event`, `event-own-log`, `event-text`: an event of a program, switched off, and recorded in several
//! ways. A new way is a type here and a line in the table.

use std::fmt::Debug;
use std::hint::black_box;
use std::io;
use std::marker::PhantomData;

use super::session::{CHECKED, JoinedSession, LogOwner, off, recorded, with_text};
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// An event that is switched off, or recorded in one way.
pub trait TracedEvent: Debug + 'static {
    /// The name in row ids, and one line for `list`.
    const ROW: (&'static str, &'static str);
    /// Which logs the session uses.
    const LOG_OWNER: LogOwner = LogOwner::Cpu;
    /// Whether the session records the event.
    const IS_RECORDED: bool = true;

    /// Emits the event. The compiler must not know `number`.
    fn emit(number: u64);
}

/// An event of three fields without a session: a load and a branch.
#[derive(Debug)]
pub struct Off;

impl TracedEvent for Off {
    const ROW: (&'static str, &'static str) = ("event-off", "an event of a program that is switched off");
    const LOG_OWNER: LogOwner = LogOwner::NoSession;
    const IS_RECORDED: bool = false;

    #[inline(always)]
    fn emit(number: u64) {
        off(number, 1, 2);
    }
}

/// An event of three fields that the session of its process does not record, but may be told to.
#[derive(Debug)]
pub struct Unwanted;

impl TracedEvent for Unwanted {
    const ROW: (&'static str, &'static str) =
        ("event-unwanted", "an event that the session of the program does not record");
    const IS_RECORDED: bool = false;

    #[inline(always)]
    fn emit(number: u64) {
        off(number, 1, 2);
    }
}

/// An event of three fields, recorded in the log of the CPU by a restartable sequence.
#[derive(Debug)]
pub struct InCpuLog;

impl TracedEvent for InCpuLog {
    const ROW: (&'static str, &'static str) = ("event", "a recorded event of three fields, in the log of the CPU");

    #[inline(always)]
    fn emit(number: u64) {
        recorded(number, 1, 2);
    }
}

/// The same event in the log of the thread, as on machines without restartable sequences.
#[derive(Debug)]
pub struct InThreadLog;

impl TracedEvent for InThreadLog {
    const ROW: (&'static str, &'static str) = ("event-own-log", "the same in a log of the thread");
    const LOG_OWNER: LogOwner = LogOwner::Thread;

    #[inline(always)]
    fn emit(number: u64) {
        recorded(number, 1, 2);
    }
}

/// An event of a number and a text of 16 bytes, in the log of the CPU.
#[derive(Debug)]
pub struct Text;

impl TracedEvent for Text {
    const ROW: (&'static str, &'static str) = ("event-text", "a recorded event of a number and a text of 16 bytes");

    #[inline(always)]
    fn emit(number: u64) {
        with_text(number, black_box("sixteen letters."));
    }
}

/// Emits event `H` in a process that has joined a session.
#[derive(Debug)]
pub struct Event<H>(JoinedSession, PhantomData<H>);

impl<H: TracedEvent> Operation for Event<H> {
    const ROWS: &'static [(&'static str, &'static str)] = &[H::ROW];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<Event<H>, Unavailable> {
        Ok(Event(JoinedSession::new(job, H::LOG_OWNER)?, PhantomData))
    }

    fn check(&mut self) -> io::Result<()> {
        self.run(CHECKED)?;
        self.0.check(if H::IS_RECORDED { CHECKED } else { 0 })
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for number in 0..operations {
            H::emit(black_box(number));
        }
        Ok(())
    }
}
