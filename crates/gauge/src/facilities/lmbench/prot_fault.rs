//! `prot-fault`: a store to a read-only page and its SIGSEGV handler, minus the handling of a signal, which is
//! `kill(2)` to itself with a handler minus `kill(2)` to itself with signal 0 (`signal-handle`).
//!
//! Two parts are timed, and both contain one `kill(2)`. The first is the fault and a `kill(2)` with signal 0; the
//! second is a `kill(2)` with a handler that does nothing. Both handlers are plain ones, without `SA_SIGINFO`. The
//! handler of the fault returns to the store, which faults again. After the given number of faults it makes the page
//! writable, by the only `mprotect(2)` of a batch.

use std::io;

use headwater_os_tools::handler::{self, Handler};
use headwater_os_tools::library_calls::kill;
use headwater_os_tools::protection::ReadOnlyPage;
use rustix::process::{Pid, Signal, getpid};

use crate::facilities::operation::{Figure, Operation, Run};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The signal of the subtracted part.
const SIGNAL: Signal = Signal::USR1;

/// Number of stores and of signals of the check.
const CHECKED: u64 = 10;

/// A process with a read-only page.
#[derive(Debug)]
pub struct ProtFault {
    page: ReadOnlyPage,
    own: Pid,
}

impl Operation for ProtFault {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("prot-fault", "store to a read-only page through a SIGSEGV handler, minus signal-handle")];
    const FIGURE: Figure = Figure::Microseconds;
    const SUBTRACTED: Option<Run<Self>> = Some(ProtFault::handle);

    fn prepare(_job: &Job) -> Result<ProtFault, Unavailable> {
        let page = ReadOnlyPage::new().map_err(|error| Unavailable::call("a read-only page", error))?;
        handler::install(SIGNAL, Handler::Empty).map_err(|error| Unavailable::call("sigaction", error))?;
        Ok(ProtFault { page, own: getpid() })
    }

    fn check(&mut self) -> io::Result<()> {
        handler::install(SIGNAL, Handler::Counting)?;
        let before = (self.page.handled(), handler::counted());
        self.run(CHECKED)?;
        self.handle(CHECKED)?;
        let handled = (self.page.handled() - before.0, handler::counted() - before.1);
        handler::install(SIGNAL, Handler::Empty)?;
        match handled {
            (CHECKED, CHECKED) => Ok(()),
            other => Err(io::Error::other(format!("{CHECKED} stores and signals each, and handled were {other:?}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        self.page.store(operations)?;
        for _ in 0..operations {
            kill(self.own, None)?;
        }
        Ok(())
    }
}

impl ProtFault {
    /// The subtracted part: handles signals.
    fn handle(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            kill(self.own, Some(SIGNAL))?;
        }
        Ok(())
    }
}
