//! `stat`: reads the attributes of a file by its path.

use std::fs;
use std::hint::black_box;
use std::io;
use std::os::unix::fs::MetadataExt;

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
        let answer = rustix::fs::stat(self.0.path())?;
        match (answer.st_size as u64, answer.st_ino) {
            known if known == (self.0.length(), fs::metadata(self.0.as_path())?.ino()) => Ok(()),
            other => Err(io::Error::other(format!("size and inode of another file: {other:?}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            // Only one word of the result is used, as in `fstat`.
            black_box(rustix::fs::stat(self.0.path())?.st_size);
        }
        Ok(())
    }
}
