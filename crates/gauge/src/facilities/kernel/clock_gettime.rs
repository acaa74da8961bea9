//! `clock-gettime`, `clock-gettime-syscall`: reads `CLOCK_MONOTONIC` through the C library, which uses the vDSO, and by
//! the system call.

use std::hint::black_box;
use std::io;

use headwater_os_tools::vdso::{clock_by_library, clock_by_system_call};

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A process that reads the clock.
#[derive(Debug)]
pub struct ClockGettime {
    by_library: bool,
}

impl Operation for ClockGettime {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("clock-gettime", "CLOCK_MONOTONIC by the C library and the vDSO"),
        ("clock-gettime-syscall", "CLOCK_MONOTONIC by the system call"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<ClockGettime, Unavailable> {
        Ok(ClockGettime { by_library: job.row.subject == "clock-gettime" })
    }

    fn check(&mut self) -> io::Result<()> {
        let read = || if self.by_library { clock_by_library() } else { clock_by_system_call() };
        let first = read()?;
        // The clock must advance: ten thousand reads take longer than its resolution.
        for _ in 0..10_000 {
            if read()? > first {
                return Ok(());
            }
        }
        Err(io::Error::other("the clock stood still"))
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        if self.by_library {
            for _ in 0..operations {
                black_box(clock_by_library()?);
            }
        } else {
            for _ in 0..operations {
                black_box(clock_by_system_call()?);
            }
        }
        Ok(())
    }
}
