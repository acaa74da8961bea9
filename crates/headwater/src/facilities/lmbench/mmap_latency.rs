//! `mmap-latency`: mapping a large file shared, a load of one byte every 16 KiB of its first tenth, and unmapping it.
//!
//! The file is in the page cache. A kernel of today maps up to 16 pages around the one that was touched, so that not every
//! load faults.

use std::hint::black_box;
use std::io;

use headwater_os::mapping::MappedFile;
use headwater_os::usage::Usage;

use crate::facilities::operation::{CachedFile, FILE_BYTES, Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Bytes between touches.
const STRIDE: usize = 16 << 10;

/// Where touching ends.
const TOUCHED: usize = FILE_BYTES / 10;

/// A process with a large file.
#[derive(Debug)]
pub struct MmapLatency {
    mapped: MappedFile,
    _file: CachedFile,
}

impl Operation for MmapLatency {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("mmap-latency", "mmap() of 64 MiB of a file, a touch every 16 KiB of the first tenth, munmap()")];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<MmapLatency, Unavailable> {
        let file = CachedFile::make(job, FILE_BYTES)?;
        let mapped = MappedFile::new(file.open()?, FILE_BYTES).map_err(|error| Unavailable::call("fstat", error))?;
        mapped.map().map_err(|error| Unavailable::call("mmap", error))?;
        Ok(MmapLatency { mapped, _file: file })
    }

    fn check(&mut self) -> io::Result<()> {
        let before = Usage::of_process();
        let sum = self.once()?;
        let faults = Usage::of_process().since(&before).minor_faults;
        let expected: u64 = (0..TOUCHED as u64).step_by(STRIDE).map(|offset| u64::from(CachedFile::byte(offset))).sum();
        let touches = TOUCHED.div_ceil(STRIDE) as u64;
        if sum != expected {
            return Err(io::Error::other(format!("the bytes touched make {sum}, but were to make {expected}")));
        }
        // As many pages as the kernel maps around a touched one: fault_around_bytes is 64 KiB, and may be set to more.
        if faults < touches / 256 {
            return Err(io::Error::other(format!("{touches} touches took {faults} faults")));
        }
        Ok(())
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            black_box(self.once()?);
        }
        Ok(())
    }
}

impl MmapLatency {
    #[inline]
    fn once(&self) -> io::Result<u64> {
        let view = self.mapped.map()?;
        Ok((0..TOUCHED).step_by(STRIDE).map(|offset| u64::from(view.byte(offset))).sum())
    }
}
