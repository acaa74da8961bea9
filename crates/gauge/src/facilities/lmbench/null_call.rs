//! `null-call`: `getppid(2)`, a call with hardly any work in the kernel: the cost of entering and leaving the kernel.

use std::hint::black_box;
use std::io;
use std::os::unix::process::parent_id;

use rustix::process::{Pid, getppid};

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Calls `getppid`, without the C library.
#[derive(Debug)]
pub struct NullCall;

impl Operation for NullCall {
    const ROWS: &'static [(&'static str, &'static str)] = &[("null-call", "getppid()")];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(_job: &Job) -> Result<NullCall, Unavailable> {
        Ok(NullCall)
    }

    fn check(&mut self) -> io::Result<()> {
        let (asked, known) = (getppid().map(Pid::as_raw_nonzero), parent_id());
        match asked {
            Some(parent) if parent.get().unsigned_abs() == known => Ok(()),
            _ => Err(io::Error::other(format!("getppid answered {asked:?}, but the parent is {known}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            black_box(getppid());
        }
        Ok(())
    }
}
