//! `mmap-latency`: maps a large file shared and writable, stores one byte every 16 KiB of its first tenth, and unmaps
//! it.
//!
//! The file is in the page cache, in small pages because of the way it was written. The kernel maps no further pages
//! around a store, so that each store faults. If one does not, the row is not measured.

use std::io;

use headwater_os_tools::mapping::MappedFile;
use headwater_os_tools::usage::Usage;
use rustix::io::pread;

use crate::facilities::operation::{CachedFile, FILE_BYTES, Figure, Operation};
use crate::harness::conduct::Job;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// Bytes between stores.
const STRIDE: usize = 16 << 10;

/// Length of the part that is stored to.
const TOUCHED: usize = FILE_BYTES / 10;

/// The value that is stored. No byte of the file has it before.
const VALUE: u8 = 0xa5;

/// Number of stores, and so of the faults of one mapping.
const STORES: u64 = TOUCHED.div_ceil(STRIDE) as u64;

/// A process with a large file.
#[derive(Debug)]
pub struct MmapLatency {
    mapped: MappedFile,
    file: CachedFile,
}

impl Operation for MmapLatency {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("mmap-latency", "mmap() of 64 MiB of a file, a store every 16 KiB of the first tenth, munmap()")];
    const FIGURE: Figure = Figure::Microseconds;
    const COST: LaunchCost = LaunchCost::fixed(0.06);

    fn prepare(job: &Job) -> Result<MmapLatency, Unavailable> {
        let file = CachedFile::make(job, FILE_BYTES)?;
        let mapped = MappedFile::new(file.open_read_write()?, FILE_BYTES);
        let mapped = mapped.map_err(|error| Unavailable::call("fstat", error))?;
        let mut operation = MmapLatency { mapped, file };
        let before = Usage::of_process();
        operation.run(1).map_err(|error| Unavailable::call("mmap", error))?;
        match Usage::of_process().since(&before).minor_faults {
            faults if faults >= STORES => Ok(operation),
            faults => Err(Unavailable(format!(
                "{STORES} stores took {faults} faults: the file system of {} keeps the file in large pages (another \
                 TMPDIR may not)",
                operation.file.path().display()
            ))),
        }
    }

    fn check(&mut self) -> io::Result<()> {
        self.run(1)?;
        let descriptor = self.file.open().map_err(|reason| io::Error::other(reason.to_string()))?;
        for offset in (0..TOUCHED + STRIDE).step_by(STRIDE / 2) {
            let mut byte = [0];
            pread(&descriptor, &mut byte, offset as u64)?;
            let is_stored = offset < TOUCHED && offset.is_multiple_of(STRIDE);
            let expected = if is_stored { VALUE } else { CachedFile::byte(offset as u64) };
            if byte[0] != expected {
                let found = byte[0];
                return Err(io::Error::other(format!(
                    "byte {offset} of the file is {found}, but should be {expected}"
                )));
            }
        }
        Ok(())
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            let mut view = self.mapped.map_writable()?;
            (0..TOUCHED).step_by(STRIDE).for_each(|offset| view.store(offset, VALUE));
        }
        Ok(())
    }
}
