//! `fstat`: reads the attributes of an open file.

use std::fs::File;
use std::hint::black_box;
use std::io;

use super::existing_file::ExistingFile;
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// An open file.
#[derive(Debug)]
pub struct Fstat {
    file: ExistingFile,
    open: File,
}

impl Operation for Fstat {
    const ROWS: &'static [(&'static str, &'static str)] = &[("fstat", "fstat() of an open file")];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<Fstat, Unavailable> {
        let file = ExistingFile::make(job)?;
        let open = File::open(file.as_path()).map_err(|error| Unavailable::call("open", error))?;
        Ok(Fstat { file, open })
    }

    fn check(&mut self) -> io::Result<()> {
        let (by_number, by_path) = (rustix::fs::fstat(&self.open)?, rustix::fs::stat(self.file.path())?);
        match (by_number.st_size as u64, by_number.st_ino) {
            known if known == (self.file.length(), by_path.st_ino) => Ok(()),
            other => Err(io::Error::other(format!("size and inode of another file: {other:?}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            // Only one word of the result is used: copying all of it would take a tenth of the call.
            black_box(rustix::fs::fstat(&self.open)?.st_size);
        }
        Ok(())
    }
}
