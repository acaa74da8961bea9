//! `userfaultfd`: the first load from a missing page. The process sleeps until another of its threads has read the
//! fault event and copied a page there (`UFFDIO_COPY`). Between passes the pages are dropped, untimed.

use std::io;

use headwater_os_tools::userfault::{SUPPLIED, SuppliedMemory};

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// Pages of a pass.
const PAGES: u64 = 1024;

/// A process whose pages another thread supplies.
#[derive(Debug)]
pub struct Userfaultfd {
    memory: SuppliedMemory,
}

impl Operation for Userfaultfd {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("userfaultfd", "page fault that another thread of the process resolves by UFFDIO_COPY")];
    const FIGURE: Figure = Figure::Nanoseconds;
    const COST: LaunchCost = LaunchCost::fixed(0.12);
    const PIECE_MAX: u64 = PAGES;

    fn prepare(job: &Job) -> Result<Userfaultfd, Unavailable> {
        let second = job.cpus.map(|(_, second)| second);
        let memory =
            SuppliedMemory::new(PAGES as usize, second).map_err(|error| Unavailable::call("userfaultfd", error))?;
        Ok(Userfaultfd { memory })
    }

    fn check(&mut self) -> io::Result<()> {
        self.tidy(PAGES)?;
        self.run(PAGES)
    }

    fn tidy(&mut self, _operations: u64) -> io::Result<()> {
        self.memory.empty()
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for page in 0..operations as usize {
            // A page of zeros would come from the kernel: then the thread is gone.
            if self.memory.touch(page) != SUPPLIED {
                return Err(io::Error::other(format!("page {page} was not supplied by the thread")));
            }
        }
        Ok(())
    }
}
