//! `open-close`: opens a file for reading by its path, and closes it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fstat, open, stat};

use super::existing_file::ExistingFile;
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Opens and closes a file.
#[derive(Debug)]
pub struct OpenClose(ExistingFile);

impl Operation for OpenClose {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("open-close", "open() of an existing file for reading, and close()")];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<OpenClose, Unavailable> {
        let file = OpenClose(ExistingFile::make(job)?);
        file.open().map_err(|error| Unavailable::call("open", error))?;
        Ok(file)
    }

    fn check(&mut self) -> io::Result<()> {
        let first = self.open()?;
        let number = first.as_raw_fd();
        if fstat(&first)?.st_ino != stat(self.0.path())?.st_ino {
            return Err(io::Error::other("another file was opened"));
        }
        drop(first);
        // The kernel assigns the lowest free descriptor: the file was closed if its number is free again.
        match self.open()?.as_raw_fd() {
            again if again == number => Ok(()),
            other => Err(io::Error::other(format!("descriptor {number} is not closed: the next is {other}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            drop(self.open()?);
        }
        Ok(())
    }
}

impl OpenClose {
    #[inline]
    fn open(&self) -> io::Result<OwnedFd> {
        Ok(open(self.0.path(), OFlags::RDONLY, Mode::empty())?)
    }
}
