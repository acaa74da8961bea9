//! `io-uring-nop`, `io-uring-read`: one io_uring(7) request that is submitted and completed by one `io_uring_enter(2)`:
//! a request that does nothing, and a read of 4 KiB of a file in the page cache.

use std::io;
use std::os::fd::OwnedFd;

use headwater_os_tools::uring::Uring;

use crate::facilities::operation::{CachedFile, Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Bytes of a read.
const READ: usize = 4 << 10;

/// Size of the file in bytes.
const FILE: usize = 1 << 20;

/// A process with a ring, and a file for the reads.
#[derive(Debug)]
pub struct IoUring {
    ring: Uring,
    file: Option<(OwnedFd, CachedFile)>,
}

impl Operation for IoUring {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("io-uring-nop", "io_uring request that does nothing, submitted and waited for by one call"),
        ("io-uring-read", "io_uring read of 4 KiB of a cached file, submitted and waited for by one call"),
    ];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn prepare(job: &Job) -> Result<IoUring, Unavailable> {
        let mut ring = Uring::new(READ as u32).map_err(|error| Unavailable::call("io_uring_setup", error))?;
        let mut file = None;
        if job.row.subject == "io-uring-read" {
            let cached = CachedFile::make(job, FILE)?;
            let descriptor = cached.open()?;
            // An older kernel may have rings but not this request.
            ring.read(&descriptor, 0).map_err(|error| Unavailable::call("io_uring read", error))?;
            file = Some((descriptor, cached));
        }
        Ok(IoUring { ring, file })
    }

    fn check(&mut self) -> io::Result<()> {
        let Some((descriptor, _)) = &self.file else { return self.ring.nop() };
        let last = FILE - READ;
        let read = self.ring.read(descriptor, last as u64)?;
        let expected = (last..FILE).map(|offset| CachedFile::byte(offset as u64));
        if read.iter().copied().eq(expected) {
            Ok(())
        } else {
            Err(io::Error::other("what was read is not in the file"))
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        match &self.file {
            None => (0..operations).try_for_each(|_| self.ring.nop()),
            Some((descriptor, _)) => (0..operations).try_for_each(|_| match self.ring.read(descriptor, 0)?.len() {
                READ => Ok(()),
                count => Err(io::Error::other(format!("{count} of {READ} B were read"))),
            }),
        }
    }
}
