//! `mprotect`: `mprotect(2)` of one resident page, to read-only and back; the figure is per call.

use std::io;

use headwater_os_tools::mapping::{Memory, page_bytes};

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// A process with one page.
#[derive(Debug)]
pub struct Mprotect {
    page: Memory,
}

impl Operation for Mprotect {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("mprotect", "mprotect() of one page, to read-only and back; per call")];
    const FIGURE: Figure = Figure::Nanoseconds;

    fn quantity(_job: &Job) -> f64 {
        2.0
    }

    fn prepare(_job: &Job) -> Result<Mprotect, Unavailable> {
        let page = Memory::populated(page_bytes()).map_err(|error| Unavailable::call("mmap", error))?;
        Ok(Mprotect { page })
    }

    fn check(&mut self) -> io::Result<()> {
        self.page.words_mut()[0].set(1);
        self.page.protect_and_back()?;
        // A store must succeed again, and the page must have kept its contents.
        self.page.words_mut()[1].set(2);
        match [0, 1].map(|word| self.page.words()[word].get()) {
            [1, 2] => Ok(()),
            other => Err(io::Error::other(format!("the page holds {other:?}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            self.page.protect_and_back()?;
        }
        Ok(())
    }
}
