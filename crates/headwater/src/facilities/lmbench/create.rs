//! `create-Nk`: creates a file, writes N KiB into it by one call, and closes it. Nothing is forced to a disk. The files
//! before it are in the same directory, and are deleted untimed.

use std::io;

use super::file_set::{FILES_MAX, FileSet};
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A directory, and how many files it has.
#[derive(Debug)]
pub struct Create {
    files: FileSet,
    there: u64,
}

/// Files of the check.
const CHECKED: u64 = 5;

impl Operation for Create {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("create-0k", "creat() of a file, and close()"),
        ("create-1k", "creat() of a file, write() of 1 KiB, and close()"),
        ("create-4k", "creat() of a file, write() of 4 KiB, and close()"),
        ("create-10k", "creat() of a file, write() of 10 KiB, and close()"),
    ];
    const FIGURE: Figure = Figure::Microseconds;
    const PIECE_MAX: u64 = FILES_MAX;

    fn prepare(job: &Job) -> Result<Create, Unavailable> {
        Ok(Create { files: FileSet::make(job)?, there: 0 })
    }

    fn check(&mut self) -> io::Result<()> {
        self.tidy(CHECKED)?;
        self.run(CHECKED)?;
        match self.files.count()? {
            CHECKED => Ok(()),
            other => Err(io::Error::other(format!("{CHECKED} files were created, and {other} are there"))),
        }
    }

    fn tidy(&mut self, _operations: u64) -> io::Result<()> {
        self.files.delete(std::mem::take(&mut self.there))
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        self.files.create(operations)?;
        self.there = operations;
        Ok(())
    }
}
