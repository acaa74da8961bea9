//! `signal-install`: `sigaction(2)` with a handler that does nothing. The call also returns the previous action.

use std::io;

use headwater_os_tools::handler::{self, Handler};
use rustix::process::{Signal, getpid, kill_process};

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The signal. Nothing else in a worker uses it.
const SIGNAL: Signal = Signal::USR1;

/// A process that sets a handler again and again.
#[derive(Debug)]
pub struct SignalInstall;

impl Operation for SignalInstall {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("signal-install", "sigaction() with an empty handler; it returns the one before")];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(_job: &Job) -> Result<SignalInstall, Unavailable> {
        handler::install(SIGNAL, Handler::Empty).map_err(|error| Unavailable::call("sigaction", error))?;
        Ok(SignalInstall)
    }

    fn check(&mut self) -> io::Result<()> {
        let counted_by = |operation: &mut SignalInstall, operations| -> io::Result<u64> {
            handler::install(SIGNAL, Handler::Counting)?;
            operation.run(operations)?;
            let before = handler::counted();
            kill_process(getpid(), SIGNAL)?;
            Ok(handler::counted() - before)
        };
        match (counted_by(self, 0)?, counted_by(self, 1)?) {
            (1, 0) => Ok(()),
            (_, after) => Err(io::Error::other(format!("the previous handler was called {after} times"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            handler::install(SIGNAL, Handler::Empty)?;
        }
        Ok(())
    }
}
