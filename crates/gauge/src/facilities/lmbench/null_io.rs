//! `null-io`, `null-io-inline`: the mean of reading a byte from `/dev/zero` and writing one to `/dev/null`: a system call
//! that looks up a file descriptor and its driver, and transfers almost nothing. The first row calls the C library's
//! functions, the second makes the system calls in its own loop.

use std::io;
use std::os::fd::OwnedFd;

use headwater_os_tools::library_calls;
use rustix::fs::{Mode, OFlags, open};

use super::is_inline;
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The two devices, and the byte.
#[derive(Debug)]
pub struct NullIo {
    is_inline: bool,
    zero: OwnedFd,
    null: OwnedFd,
    byte: [u8; 1],
}

impl Operation for NullIo {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("null-io", "mean of read of 1 B from /dev/zero and write of 1 B to /dev/null"),
        ("null-io-inline", "the same calls without the C library"),
    ];
    const FIGURE: Figure = Figure::Microseconds;

    /// A read and a write: the figure is that of one call.
    fn quantity(_job: &Job) -> f64 {
        2.0
    }

    fn prepare(job: &Job) -> Result<NullIo, Unavailable> {
        let device = |path: &str, flags| {
            open(path, flags | OFlags::CLOEXEC, Mode::empty())
                .map_err(|error| Unavailable::call(&format!("open {path}"), error))
        };
        let (zero, null) = (device("/dev/zero", OFlags::RDONLY)?, device("/dev/null", OFlags::WRONLY)?);
        Ok(NullIo { is_inline: is_inline(job), zero, null, byte: [0] })
    }

    fn check(&mut self) -> io::Result<()> {
        self.byte = [1];
        let by_library = (library_calls::read(&self.zero, &mut self.byte)?, self.byte);
        self.byte = [1];
        let inline = (rustix::io::read(&self.zero, &mut self.byte)?, self.byte);
        let given = (library_calls::write(&self.null, &self.byte)?, rustix::io::write(&self.null, &self.byte)?);
        match (by_library, inline, given) {
            ((1, [0]), (1, [0]), (1, 1)) => Ok(()),
            other => Err(io::Error::other(format!("bytes read with the byte, twice, and bytes written: {other:?}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        if self.is_inline {
            for _ in 0..operations {
                rustix::io::read(&self.zero, &mut self.byte)?;
                rustix::io::write(&self.null, &self.byte)?;
            }
        } else {
            for _ in 0..operations {
                library_calls::read(&self.zero, &mut self.byte)?;
                library_calls::write(&self.null, &self.byte)?;
            }
        }
        Ok(())
    }
}
