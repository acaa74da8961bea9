//! `page-fault`: the first touch of the pages of a cached file, in random order, minus mapping and unmapping the file;
//! per page.
//!
//! The touch is a load, because the original maps its file read-only. A current kernel maps up to 16 pages around the
//! touched one, so that not every touch faults; the figure is the cost of a page. The file is written so that its pages
//! are small. If there is less than one fault for every 16 pages, the row is not measured. In `fault-4k` of facility
//! `kernel` every touch faults.

use std::hint::black_box;
use std::io;

use headwater_os_tools::mapping::{MappedFile, page_bytes};
use headwater_os_tools::usage::Usage;
use headwater_results::random::Random;

use crate::facilities::operation::{CachedFile, Figure, Operation, Run};
use crate::harness::conduct::Job;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// Size of the file in bytes.
const FILE: usize = 16 << 20;

/// The most pages that one fault may map: `fault_around_bytes` is 64 KiB by default.
const AROUND: u64 = 16;

/// The seed of the random order: the same for every launch.
const SEED: u64 = 1;

/// A process with a file and an order of its pages.
#[derive(Debug)]
pub struct PageFault {
    mapped: MappedFile,
    /// Offsets of the pages, in random order.
    order: Vec<u32>,
    file: CachedFile,
}

impl Operation for PageFault {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("page-fault", "touch of each page of a mapped cached file by chance, minus mmap() and munmap()")];
    const FIGURE: Figure = Figure::Microseconds;
    const COST: LaunchCost = LaunchCost::fixed(0.025);
    const SUBTRACTED: Option<Run<Self>> = Some(PageFault::map);

    fn quantity(_job: &Job) -> f64 {
        (FILE / page_bytes()) as f64
    }

    fn prepare(job: &Job) -> Result<PageFault, Unavailable> {
        let file = CachedFile::make(job, FILE)?;
        let mapped = MappedFile::new(file.open()?, FILE).map_err(|error| Unavailable::call("fstat", error))?;
        let mut order: Vec<u32> = (0..FILE as u32).step_by(page_bytes()).collect();
        Random::new(SEED).shuffle(&mut order);
        let operation = PageFault { mapped, order, file };
        let before = Usage::of_process();
        operation.touch().map_err(|error| Unavailable::call("mmap", error))?;
        let (faults, pages) = (Usage::of_process().since(&before).minor_faults, operation.order.len() as u64);
        if faults < pages / AROUND {
            return Err(Unavailable(format!(
                "{pages} pages took {faults} faults: the file system of {} keeps the file in large pages (another TMPDIR may \
                 not), or fault_around_bytes is raised",
                operation.file.path().display()
            )));
        }
        Ok(operation)
    }

    fn check(&mut self) -> io::Result<()> {
        let sum = self.touch()?;
        let expected: u64 = self.order.iter().map(|&offset| u64::from(CachedFile::byte(offset.into()))).sum();
        if sum != expected {
            return Err(io::Error::other(format!(
                "the bytes touched add up to {sum}, but should add up to {expected}"
            )));
        }
        self.map(1)
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            black_box(self.touch()?);
        }
        Ok(())
    }
}

impl PageFault {
    #[inline]
    fn touch(&self) -> io::Result<u64> {
        let view = self.mapped.map()?;
        Ok(self.order.iter().map(|&offset| u64::from(view.byte(offset as usize))).sum())
    }

    /// The subtracted part: maps and unmaps the file.
    fn map(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            black_box(self.mapped.map()?);
        }
        Ok(())
    }
}
