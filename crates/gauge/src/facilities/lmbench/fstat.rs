//! `fstat`, `fstat-inline`: reads the attributes of an open file: by the C library's function, and by the system call
//! `fstat(2)` in the row's own loop.

use std::fs::File;
use std::hint::black_box;
use std::io;

use headwater_os_tools::library_calls;

use super::existing_file::ExistingFile;
use super::is_inline;
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// An open file.
#[derive(Debug)]
pub struct Fstat {
    is_inline: bool,
    file: ExistingFile,
    open: File,
}

impl Operation for Fstat {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("fstat", "fstat() of an open file"), ("fstat-inline", "fstat() of an open file without the C library")];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<Fstat, Unavailable> {
        let file = ExistingFile::make(job)?;
        let open = File::open(file.as_path()).map_err(|error| Unavailable::call("open", error))?;
        Ok(Fstat { is_inline: is_inline(job), file, open })
    }

    fn check(&mut self) -> io::Result<()> {
        let inline = rustix::fs::fstat(&self.open)?;
        self.file.check(library_calls::fstat(&self.open)?)?;
        self.file.check(library_calls::Attributes { bytes: inline.st_size as u64, inode: inline.st_ino })
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        // Only one word of the result is used: copying all of it would take a tenth of the call.
        if self.is_inline {
            for _ in 0..operations {
                black_box(rustix::fs::fstat(&self.open)?.st_size);
            }
        } else {
            for _ in 0..operations {
                black_box(library_calls::fstat(&self.open)?.bytes);
            }
        }
        Ok(())
    }
}
