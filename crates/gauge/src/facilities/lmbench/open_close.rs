//! `open-close`: opens a file for reading by its path, and closes it, by the C library's functions.

use std::io;
use std::os::fd::AsRawFd;

use headwater_os_tools::library_calls::{fstat, open};

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
        open(file.0.path()).map_err(|error| Unavailable::call("open", error))?;
        Ok(file)
    }

    fn check(&mut self) -> io::Result<()> {
        let first = open(self.0.path())?;
        let number = first.as_raw_fd();
        self.0.check(fstat(&first)?)?;
        drop(first);
        // The kernel assigns the lowest free descriptor: the file was closed if its number is free again.
        match open(self.0.path())?.as_raw_fd() {
            again if again == number => Ok(()),
            other => Err(io::Error::other(format!("descriptor {number} is not closed: the next is {other}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            drop(open(self.0.path())?);
        }
        Ok(())
    }
}
