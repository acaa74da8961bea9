//! `fault-4k`, `fault-2m`: the first store to a page of anonymous memory: a page fault in which the kernel allocates a
//! page, fills it with zeros and maps it. `fault-2m` requests huge pages by `madvise(2)`; the row is skipped if the
//! machine provides none.
//!
//! Between passes over the memory the pages are freed, untimed.

use std::fs;
use std::io;

use headwater_os_tools::mapping::{Memory, Word, page_bytes};
use headwater_os_tools::usage::Usage;

use crate::facilities::operation::{Figure, Operation, need};
use crate::harness::conduct::Job;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// Bytes of a page of each kind.
const SMALL: usize = 4 << 10;
const HUGE: usize = 2 << 20;

/// The kernel's settings for huge pages.
const SETTINGS: &str = "/sys/kernel/mm/transparent_hugepage";

/// A process with memory whose pages of `PAGE` bytes are not yet allocated.
#[derive(Debug)]
pub struct AnonymousFault<const PAGE: usize> {
    memory: Memory,
}

/// The row of small pages.
pub type SmallFault = AnonymousFault<SMALL>;

/// The row of huge pages.
pub type HugeFault = AnonymousFault<HUGE>;

impl<const PAGE: usize> Operation for AnonymousFault<PAGE> {
    const ROWS: &'static [(&'static str, &'static str)] = if PAGE == HUGE {
        &[("fault-2m", "first store to a huge page of anonymous memory, 2 MiB, by madvise()")]
    } else {
        &[("fault-4k", "first store to a page of anonymous memory, 4 KiB")]
    };
    const FIGURE: Figure = Figure::Nanoseconds;
    const COST: LaunchCost = LaunchCost::fixed(0.03);
    // 64 MiB and 16 MiB.
    const PIECE_MAX: u64 = if PAGE == HUGE { 32 } else { 4096 };

    fn prepare(_job: &Job) -> Result<AnonymousFault<PAGE>, Unavailable> {
        let len = Self::PIECE_MAX as usize * PAGE;
        need(len as u64)?;
        let mut memory = Memory::new(len, PAGE).map_err(|error| Unavailable::call("mmap", error))?;
        if PAGE == HUGE {
            huge_pages_are_given()?;
            memory.ask_for_huge_pages().map_err(|error| Unavailable::call("madvise MADV_HUGEPAGE", error))?;
        } else if page_bytes() != SMALL {
            return Err(Unavailable(format!("a page has {} B here", page_bytes())));
        } else if let Err(error) = memory.ask_for_small_pages() {
            // A kernel without transparent huge pages answers EINVAL.
            if error.kind() != io::ErrorKind::InvalidInput {
                return Err(Unavailable::call("madvise MADV_NOHUGEPAGE", error));
            }
        }
        let mut fault = AnonymousFault { memory };
        match fault.faults() {
            // The counting itself may fault too; a range of 2 MiB in small pages takes 512 faults.
            Ok((touched, _)) if PAGE == HUGE && touched >= 2 * Self::PIECE_MAX => {
                Err(Unavailable("the kernel gave small pages: none of 2 MiB was free".to_owned()))
            }
            Ok(_) => Ok(fault),
            Err(error) => Err(Unavailable::call("madvise MADV_DONTNEED", error)),
        }
    }

    fn check(&mut self) -> io::Result<()> {
        let (first, second) = self.faults()?;
        if first >= Self::PIECE_MAX && second < 4 {
            return Ok(());
        }
        Err(io::Error::other(format!("{} pages took {first} faults, and then {second}", Self::PIECE_MAX)))
    }

    fn tidy(&mut self, _operations: u64) -> io::Result<()> {
        self.memory.empty()
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        let words = self.memory.words_mut();
        for page in 0..operations as usize {
            words[page * (PAGE / size_of::<Word>())].set(1);
        }
        Ok(())
    }
}

impl<const PAGE: usize> AnonymousFault<PAGE> {
    /// Touches every 4 KiB of fresh memory twice. Returns the faults of the first and of the second pass.
    fn faults(&mut self) -> io::Result<(u64, u64)> {
        self.memory.empty()?;
        let mut touch = || {
            let before = Usage::of_process();
            self.memory.words_mut().chunks_mut(SMALL / size_of::<Word>()).for_each(|page| page[0].set(1));
            Usage::of_process().since(&before).minor_faults
        };
        let faults = (touch(), touch());
        self.memory.empty()?;
        Ok(faults)
    }
}

/// Checks that the machine provides huge pages of 2 MiB to a process that requests them.
fn huge_pages_are_given() -> Result<(), Unavailable> {
    let read = |name| fs::read_to_string(format!("{SETTINGS}/{name}")).map_err(|error| error.to_string());
    match (read("enabled"), read("hpage_pmd_size")) {
        (Ok(enabled), _) if enabled.contains("[never]") => Err(Unavailable(format!("{SETTINGS}/enabled is never"))),
        (Ok(_), Ok(size)) if size.trim() == HUGE.to_string() => Ok(()),
        (Ok(_), Ok(size)) => Err(Unavailable(format!("a huge page has {} B here", size.trim()))),
        (Err(error), _) | (_, Err(error)) => Err(Unavailable(format!("{SETTINGS}: {error}"))),
    }
}
