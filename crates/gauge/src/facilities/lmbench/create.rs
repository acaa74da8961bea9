//! `create-Nk`: creates a file, writes N KiB into it by one call, and closes it. Nothing is synced to a disk. Up to
//! 1000 older files exist, a hundred per directory; then all are deleted, untimed.

use std::io;

use super::file_set::{FILES_MAX, FileSet};
use crate::facilities::operation::{Figure, Operation, Probe};
use crate::harness::conduct::Job;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// Creates files in a directory.
#[derive(Debug)]
pub struct Create(FileSet);

/// Number of files of the check.
const CHECKED: u64 = 5;

impl Operation for Create {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("create-0k", "creat() of a file, and close()"),
        ("create-1k", "creat() of a file, write() of 1 KiB, and close()"),
        ("create-4k", "creat() of a file, write() of 4 KiB, and close()"),
        ("create-10k", "creat() of a file, write() of 10 KiB, and close()"),
    ];
    const FIGURE: Figure = Figure::Microseconds;
    const COST: LaunchCost = LaunchCost::fixed(0.58);
    const PIECE_MAX: u64 = FILES_MAX;

    const PROBE: Option<Probe> = Some(FileSet::probe);

    fn prepare(job: &Job) -> Result<Create, Unavailable> {
        Ok(Create(FileSet::make(job)?))
    }

    fn check(&mut self) -> io::Result<()> {
        self.0.clear()?;
        self.run(CHECKED)?;
        match self.0.count()? {
            CHECKED => Ok(()),
            other => Err(io::Error::other(format!("{CHECKED} files were created, but {other} exist"))),
        }
    }

    fn tidy(&mut self, operations: u64) -> io::Result<()> {
        if self.0.remaining() < operations { self.0.clear() } else { Ok(()) }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        self.0.create(operations)
    }
}
