//! `null-call`, `null-call-inline`: `getppid(2)`, a call with hardly any work in the kernel: the cost of entering and leaving
//! the kernel. The first row calls the C library's function, as the original does; the second has the instruction in its own
//! loop, as `rustix` and runtimes without a C library have it.

use std::hint::black_box;
use std::io;

use headwater_os_tools::library_calls;
use rustix::process::{Pid, getppid};

use super::is_inline;
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Calls `getppid`.
#[derive(Debug)]
pub struct NullCall {
    is_inline: bool,
}

impl Operation for NullCall {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("null-call", "getppid()"), ("null-call-inline", "getppid() without the C library")];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<NullCall, Unavailable> {
        Ok(NullCall { is_inline: is_inline(job) })
    }

    fn check(&mut self) -> io::Result<()> {
        match (library_calls::parent(), Pid::as_raw(getppid())) {
            (one, other) if one == other => Ok(()),
            both => Err(io::Error::other(format!("getppid answered by the C library and without it: {both:?}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        if self.is_inline {
            for _ in 0..operations {
                black_box(getppid());
            }
        } else {
            for _ in 0..operations {
                black_box(library_calls::parent());
            }
        }
        Ok(())
    }
}
