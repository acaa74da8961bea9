//! `bcopy-libc`, `bcopy-hand`, `aligned-bcopy-libc`, `partial-bcopy-hand`: copies from one memory area to another, both
//! larger than the caches. The bytes copied count once.
//!
//! Both areas are page-aligned, but the destination of `aligned-bcopy-libc` begins 1920 bytes after the start of a
//! page. LMbench's program calls `memmove(3)` with such addresses, in spite of its name for the row. (A destination 128
//! bytes before the end of a page is 8 % faster than either.)
//!
//! The rows `hand` load and store every 4-byte integer, or every fourth, one piece per operation, as in `memory-read`.
//! The rows `libc` copy the whole area by one call, because the library chooses its method by the size.

use std::hint::black_box;
use std::io;

use headwater_os_tools::mapping::{Memory, page_bytes};

use super::memory::PIECE;
use super::memory_loops::{EVERY, FOURTH, copy};
use crate::facilities::operation::{Figure, Operation, Probe, need};
use crate::harness::conduct::Job;
use crate::harness::lmbench_rule::LmbenchRule;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// Size of each area in bytes.
const AREA: usize = 64 << 20;

/// Offset of the destination of `aligned-bcopy-libc` from the start of a page, in bytes.
const MISALIGNMENT: usize = 1920;

/// The code that copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Library,
    Integers,
    FourthIntegers,
}

/// A process with two memory areas.
#[derive(Debug)]
pub struct Copy {
    method: Method,
    original: Memory,
    copy: Memory,
    /// Offset of the destination in its area, in bytes.
    offset: usize,
    /// Bytes per operation.
    piece: usize,
    /// The piece that the next operation copies.
    next: usize,
}

impl Operation for Copy {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("bcopy-libc", "one memcpy() of 64 MiB, bytes counted once"),
        ("bcopy-hand", "load and store of every integer of 4 B of 64 MiB, bytes counted once"),
        ("aligned-bcopy-libc", "one memcpy() of 64 MiB to 1920 B behind a page's begin"),
        ("partial-bcopy-hand", "load and store of every fourth integer of 64 MiB, all bytes counted once"),
    ];
    const FIGURE: Figure = Figure::Bandwidth;
    const COST: LaunchCost = LaunchCost::fixed(0.18);
    const LMBENCH_RULE: LmbenchRule = LmbenchRule::Best;

    const PROBE: Option<Probe> = Some(|_| need(2 * AREA as u64));

    fn quantity(job: &Job) -> f64 {
        piece_bytes(job) as f64
    }

    fn prepare(job: &Job) -> Result<Copy, Unavailable> {
        let (method, offset) = match job.row.subject.as_str() {
            "bcopy-libc" => (Method::Library, 0),
            "bcopy-hand" => (Method::Integers, 0),
            "aligned-bcopy-libc" => (Method::Library, MISALIGNMENT),
            _ => (Method::FourthIntegers, 0),
        };
        need(2 * AREA as u64)?;
        let area = |len| Memory::populated(len).map_err(|error| Unavailable::call("mmap", error));
        Ok(Copy {
            method,
            original: area(AREA)?,
            copy: area(AREA + page_bytes())?,
            offset,
            piece: piece_bytes(job),
            next: 0,
        })
    }

    fn check(&mut self) -> io::Result<()> {
        let piece = AREA / self.piece - 1;
        let integers = self.original.integers_mut()[piece * self.piece / 4..][..self.piece / 4].iter_mut();
        integers.zip(1..).for_each(|(integer, number)| integer.set(number));
        self.copy_piece(piece);
        let step = if self.method == Method::FourthIntegers { 4 } else { 1 };
        let expected = |index: usize| if index.is_multiple_of(step) { index as u32 + 1 } else { 0 };
        let copied = &self.copy.integers()[(self.offset + piece * self.piece) / 4..][..self.piece / 4];
        match copied.iter().enumerate().find(|&(index, integer)| integer.get() != expected(index)) {
            None => Ok(()),
            Some((index, integer)) => Err(io::Error::other(format!(
                "integer {index} of the copy is {}, but should be {}",
                integer.get(),
                expected(index)
            ))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            self.copy_piece(self.next);
            self.next = (self.next + 1) % (AREA / self.piece);
        }
        Ok(())
    }
}

impl Copy {
    #[inline]
    fn copy_piece(&mut self, piece: usize) {
        let (bytes, from, to) = (self.piece, piece * self.piece, self.offset + piece * self.piece);
        let original = &self.original.integers()[from / 4..][..bytes / 4];
        match self.method {
            Method::Integers => copy::<EVERY>(original, &mut self.copy.integers_mut()[to / 4..][..bytes / 4]),
            Method::FourthIntegers => copy::<FOURTH>(original, &mut self.copy.integers_mut()[to / 4..][..bytes / 4]),
            Method::Library => {
                let copied = &mut self.copy.bytes_mut()[to..][..bytes];
                copied.copy_from_slice(&self.original.bytes_mut()[from..][..bytes]);
                // The compiler must assume that the copy is used.
                black_box(copied.as_mut_ptr());
            }
        }
    }
}

fn piece_bytes(job: &Job) -> usize {
    if job.row.subject.ends_with("-libc") { AREA } else { PIECE }
}
