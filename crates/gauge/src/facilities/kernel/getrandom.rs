//! `getrandom`, `getrandom-syscall`: 16 random bytes from the C library, which uses the vDSO if it can (glibc from 2.41
//! on Linux from 6.11), and by the system call.

use std::hint::black_box;
use std::io;

use headwater_os_tools::vdso::{random_by_library, random_by_system_call};

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A process that requests random bytes.
#[derive(Debug)]
pub struct Getrandom {
    by_library: bool,
}

impl Operation for Getrandom {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("getrandom", "16 random bytes by the C library, which may ask the vDSO"),
        ("getrandom-syscall", "16 random bytes by the system call"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<Getrandom, Unavailable> {
        Ok(Getrandom { by_library: job.row.subject == "getrandom" })
    }

    fn check(&mut self) -> io::Result<()> {
        let mut taken = [[0; 16]; 2];
        for buffer in &mut taken {
            if self.by_library { random_by_library(buffer)? } else { random_by_system_call(buffer)? }
        }
        if taken[0] == taken[1] { Err(io::Error::other("two answers were the same")) } else { Ok(()) }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        let mut buffer = [0; 16];
        if self.by_library {
            for _ in 0..operations {
                random_by_library(black_box(&mut buffer))?;
            }
        } else {
            for _ in 0..operations {
                random_by_system_call(black_box(&mut buffer))?;
            }
        }
        Ok(())
    }
}
