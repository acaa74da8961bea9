//! `stat`: reads the attributes of a file by its path, by the C library's function.

use std::hint::black_box;
use std::io;

use headwater_os_tools::library_calls;

use super::existing_file::ExistingFile;
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A file, three directories deep if the directory for temporary files is `/tmp`.
#[derive(Debug)]
pub struct Stat(ExistingFile);

impl Operation for Stat {
    const ROWS: &'static [(&'static str, &'static str)] = &[("stat", "stat() of an existing file")];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<Stat, Unavailable> {
        Ok(Stat(ExistingFile::make(job)?))
    }

    fn check(&mut self) -> io::Result<()> {
        self.0.check(library_calls::stat(self.0.path())?)
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            // Only one word of the result is used, as in `fstat`.
            black_box(library_calls::stat(self.0.path())?.bytes);
        }
        Ok(())
    }
}
