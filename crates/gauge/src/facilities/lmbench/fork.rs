//! `fork`: `fork(2)`, immediate exit of the child, and `waitpid(2)`.
//!
//! The cost of a fork depends on the memory of the parent, here a worker of Headwater.

use std::io;

use headwater_os_tools::spawn::fork_and_wait;

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Exit status of a child of the check.
const CHECKED_CODE: i32 = 42;

/// A process that forks.
#[derive(Debug)]
pub struct Fork;

impl Operation for Fork {
    const ROWS: &'static [(&'static str, &'static str)] = &[("fork", "fork(), _exit() of the child, waitpid()")];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(_job: &Job) -> Result<Fork, Unavailable> {
        fork_and_wait(0).map_err(|error| Unavailable::call("fork", error))?;
        Ok(Fork)
    }

    fn check(&mut self) -> io::Result<()> {
        match fork_and_wait(CHECKED_CODE)? {
            status if status.code() == Some(CHECKED_CODE) => Ok(()),
            other => {
                Err(io::Error::other(format!("a child should have exited with {CHECKED_CODE}, but ended with {other}")))
            }
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            fork_and_wait(0)?;
        }
        Ok(())
    }
}
