//! `null-io`: the mean of reading a byte from `/dev/zero` and writing one to `/dev/null`: a system call that looks up a
//! file descriptor and its driver, and transfers almost nothing.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{read, write};

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The two devices, and the byte.
#[derive(Debug)]
pub struct NullIo {
    zero: OwnedFd,
    null: OwnedFd,
    byte: [u8; 1],
}

impl Operation for NullIo {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("null-io", "mean of read of 1 B from /dev/zero and write of 1 B to /dev/null")];
    const FIGURE: Figure = Figure::Microseconds;

    /// A read and a write: the figure is that of one call.
    fn quantity(_job: &Job) -> f64 {
        2.0
    }

    fn prepare(_job: &Job) -> Result<NullIo, Unavailable> {
        let device = |path: &str, flags| {
            open(path, flags | OFlags::CLOEXEC, Mode::empty())
                .map_err(|error| Unavailable::call(&format!("open {path}"), error))
        };
        let (zero, null) = (device("/dev/zero", OFlags::RDONLY)?, device("/dev/null", OFlags::WRONLY)?);
        Ok(NullIo { zero, null, byte: [0] })
    }

    fn check(&mut self) -> io::Result<()> {
        self.byte = [1];
        let (taken, given) = (read(&self.zero, &mut self.byte)?, write(&self.null, &self.byte)?);
        match (taken, given, self.byte) {
            (1, 1, [0]) => Ok(()),
            other => Err(io::Error::other(format!("bytes read, bytes written and the byte read: {other:?}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            read(&self.zero, &mut self.byte)?;
            write(&self.null, &self.byte)?;
        }
        Ok(())
    }
}
