//! `file-reread`, `file-open-close`: reads a cached file in pieces of 64 KiB and adds up its words of 8 bytes. The
//! first row continues in a file that stays open, and starts again at its end. The second opens the file, reads all of
//! it and closes it.

use std::hint::black_box;
use std::io;
use std::os::fd::OwnedFd;

use headwater_os_tools::library_calls::read;
use headwater_os_tools::mapping::Memory;
use rustix::fs::{Mode, OFlags, SeekFrom, open, seek};

use super::memory_loops::sum;
use crate::facilities::operation::{CachedFile, FILE_BYTES, Figure, Operation};
use crate::harness::conduct::Job;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// Bytes per read.
const READ: usize = 64 << 10;

/// A process with a file.
#[derive(Debug)]
pub struct FileReread {
    /// Whether an operation is the whole file, from open to close.
    opens: bool,
    descriptor: OwnedFd,
    buffer: Memory,
    file: CachedFile,
}

impl Operation for FileReread {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("file-reread", "read() of 64 KiB of a cached file of 64 MiB, and the sum of its words"),
        ("file-open-close", "open(), reads of 64 KiB and sums to the end of a cached file of 64 MiB, close()"),
    ];
    const FIGURE: Figure = Figure::Bandwidth;
    const COST: LaunchCost = LaunchCost::fixed(0.22);

    fn quantity(job: &Job) -> f64 {
        if opens(job) { FILE_BYTES as f64 } else { READ as f64 }
    }

    fn prepare(job: &Job) -> Result<FileReread, Unavailable> {
        let file = CachedFile::make(job, FILE_BYTES)?;
        let buffer = Memory::populated(READ).map_err(|error| Unavailable::call("mmap", error))?;
        Ok(FileReread { opens: opens(job), descriptor: file.open()?, buffer, file })
    }

    fn check(&mut self) -> io::Result<()> {
        let (words, expected) = (FILE_BYTES as u64 / 8, CachedFile::sum);
        if self.opens {
            return summed(self.whole()?, expected(0, words));
        }
        let reads = FILE_BYTES / READ;
        let whole = (0..reads).try_fold(0, |total: u64, _| Ok::<_, io::Error>(total.wrapping_add(self.read()?)))?;
        summed(whole, expected(0, words))?;
        summed(self.read()?, expected(0, READ as u64 / 8))
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            black_box(if self.opens { self.whole() } else { self.read() }?);
        }
        Ok(())
    }
}

impl FileReread {
    /// Reads the next 64 KiB and returns their sum. At the end of the file it starts again.
    #[inline]
    fn read(&mut self) -> io::Result<u64> {
        let mut count = read(&self.descriptor, self.buffer.bytes_mut())?;
        if count == 0 {
            seek(&self.descriptor, SeekFrom::Start(0))?;
            count = read(&self.descriptor, self.buffer.bytes_mut())?;
        }
        Ok(sum(&self.buffer.words()[..count / 8]))
    }

    /// Opens the file and returns the sum of all its words.
    #[inline]
    fn whole(&mut self) -> io::Result<u64> {
        let descriptor = open(self.file.path(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut total: u64 = 0;
        loop {
            match read(&descriptor, self.buffer.bytes_mut())? {
                0 => return Ok(total),
                count => total = total.wrapping_add(sum(&self.buffer.words()[..count / 8])),
            }
        }
    }
}

fn opens(job: &Job) -> bool {
    job.row.subject == "file-open-close"
}

/// Checks the sum of the file's words.
pub(super) fn summed(found: u64, expected: u64) -> io::Result<()> {
    match found {
        _ if found == expected => Ok(()),
        _ => Err(io::Error::other(format!("the words of the file add up to {found}, but should add up to {expected}"))),
    }
}
