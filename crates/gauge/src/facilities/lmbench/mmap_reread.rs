//! `mmap-reread`, `mmap-open-close`: adds up the words of 8 bytes of a cached file through a shared mapping. The first
//! row uses a mapping that stays, whose pages are all resident. The second opens and maps the file, adds up all of it,
//! which faults its pages in, unmaps and closes it.

use std::hint::black_box;
use std::io;

use headwater_os_tools::mapping::{MappedFile, View};
use rustix::fs::{Mode, OFlags, open};

use super::file_reread::summed;
use super::memory_loops::sum;
use crate::facilities::operation::{CachedFile, FILE_BYTES, Figure, Operation};
use crate::harness::conduct::Job;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// Bytes per operation in the mapping that stays.
const PIECE: usize = 8 << 20;

/// A process with a mapped file.
#[derive(Debug)]
pub struct MmapReread {
    /// The mapping that stays; `None` if an operation is the whole file, from open to close.
    view: Option<View>,
    /// The piece that the next operation adds up.
    next: usize,
    file: CachedFile,
}

impl Operation for MmapReread {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("mmap-reread", "sum of the words of a mapped cached file of 64 MiB"),
        ("mmap-open-close", "open(), mmap(), sum of the words of a cached file of 64 MiB, munmap(), close()"),
    ];
    const FIGURE: Figure = Figure::Bandwidth;
    const COST: LaunchCost = LaunchCost::fixed(0.17);

    fn quantity(job: &Job) -> f64 {
        if opens(job) { FILE_BYTES as f64 } else { PIECE as f64 }
    }

    fn prepare(job: &Job) -> Result<MmapReread, Unavailable> {
        let file = CachedFile::make(job, FILE_BYTES)?;
        let view = MappedFile::new(file.open()?, FILE_BYTES).and_then(|mapped| mapped.map());
        let view = view.map_err(|error| Unavailable::call("mmap", error))?;
        // The first pass faults the pages in.
        black_box(sum(view.words()));
        Ok(MmapReread { view: (!opens(job)).then_some(view), next: 0, file })
    }

    fn check(&mut self) -> io::Result<()> {
        let words = |bytes: usize| bytes as u64 / 8;
        let Some(view) = &self.view else {
            return summed(self.whole()?, CachedFile::sum(0, words(FILE_BYTES)));
        };
        let last = FILE_BYTES / PIECE - 1;
        summed(piece_of(view, last), CachedFile::sum(words(last * PIECE), words(PIECE)))
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            match &self.view {
                None => {
                    black_box(self.whole()?);
                }
                Some(view) => {
                    black_box(piece_of(view, self.next));
                    self.next = (self.next + 1) % (FILE_BYTES / PIECE);
                }
            }
        }
        Ok(())
    }
}

impl MmapReread {
    /// Opens and maps the file, and returns the sum of all its words.
    #[inline]
    fn whole(&self) -> io::Result<u64> {
        let descriptor = open(self.file.path(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mapped = MappedFile::new(descriptor, FILE_BYTES)?;
        let view = mapped.map()?;
        Ok(sum(view.words()))
    }
}

/// Returns the sum of a piece.
#[inline]
fn piece_of(view: &View, piece: usize) -> u64 {
    sum(&view.words()[piece * (PIECE / 8)..][..PIECE / 8])
}

fn opens(job: &Job) -> bool {
    job.row.subject == "mmap-open-close"
}
