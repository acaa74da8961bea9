//! `signal-handle`: `kill(2)` to itself with a handler that does nothing, minus `kill(2)` to itself with signal 0: the
//! cost of delivering a signal, running its handler and returning from it.

use std::io;

use headwater_os_tools::handler::{self, Handler};
use headwater_os_tools::library_calls::kill;
use rustix::process::{Pid, Signal, getpid};

use crate::facilities::operation::{Figure, Operation, Run};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The signal. Nothing else in a worker uses it.
const SIGNAL: Signal = Signal::USR1;

/// Number of signals of the check.
const CHECKED: u64 = 10;

/// A process that sends signals to itself.
#[derive(Debug)]
pub struct SignalHandle {
    own: Pid,
}

impl Operation for SignalHandle {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("signal-handle", "kill(self) with an empty handler, minus kill(self, 0)")];
    const FIGURE: Figure = Figure::Microseconds;
    const SUBTRACTED: Option<Run<Self>> = Some(SignalHandle::send_signal_0);

    fn prepare(_job: &Job) -> Result<SignalHandle, Unavailable> {
        handler::install(SIGNAL, Handler::Empty).map_err(|error| Unavailable::call("sigaction", error))?;
        Ok(SignalHandle { own: getpid() })
    }

    fn check(&mut self) -> io::Result<()> {
        handler::install(SIGNAL, Handler::Counting)?;
        let before = handler::counted();
        self.run(CHECKED)?;
        self.send_signal_0(CHECKED)?;
        let handled = handler::counted() - before;
        handler::install(SIGNAL, Handler::Empty)?;
        match handled {
            CHECKED => Ok(()),
            other => Err(io::Error::other(format!("{CHECKED} signals were sent, and {other} handled"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            kill(self.own, Some(SIGNAL))?;
        }
        Ok(())
    }
}

impl SignalHandle {
    /// The subtracted part: signal 0 delivers nothing.
    fn send_signal_0(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            kill(self.own, None)?;
        }
        Ok(())
    }
}
