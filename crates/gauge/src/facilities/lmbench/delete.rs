//! `delete-Nk`: deletes the oldest of up to 1000 files of N KiB, a hundred per directory, which are created untimed.
//! Nothing is synced to a disk.

use std::io;

use super::file_set::{FILES_MAX, FileSet};
use crate::facilities::operation::{Figure, Operation, Probe};
use crate::harness::conduct::Job;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// Deletes files in a directory.
#[derive(Debug)]
pub struct Delete(FileSet);

/// Number of files of the check.
const CHECKED: u64 = 5;

impl Operation for Delete {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("delete-0k", "unlink() of an empty file"),
        ("delete-1k", "unlink() of a file of 1 KiB"),
        ("delete-4k", "unlink() of a file of 4 KiB"),
        ("delete-10k", "unlink() of a file of 10 KiB"),
    ];
    const FIGURE: Figure = Figure::Microseconds;
    const COST: LaunchCost = LaunchCost::fixed(1.0);
    const PIECE_MAX: u64 = FILES_MAX;
    /// Creating a file takes much longer than deleting it.
    const TIMED_SHARE: f64 = 0.1;

    const PROBE: Option<Probe> = Some(FileSet::probe);

    fn prepare(job: &Job) -> Result<Delete, Unavailable> {
        Ok(Delete(FileSet::make(job)?))
    }

    fn check(&mut self) -> io::Result<()> {
        self.0.clear()?;
        self.0.create(CHECKED)?;
        let before = self.0.count()?;
        self.run(CHECKED)?;
        match (before, self.0.count()?) {
            (CHECKED, 0) => Ok(()),
            other => Err(io::Error::other(format!("files before and after deleting {CHECKED}: {other:?}"))),
        }
    }

    fn tidy(&mut self, operations: u64) -> io::Result<()> {
        if self.0.existing() < operations {
            self.0.clear()?;
            self.0.create(FILES_MAX)?;
        }
        Ok(())
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        self.0.delete(operations)
    }
}
