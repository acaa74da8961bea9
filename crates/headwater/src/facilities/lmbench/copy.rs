//! `bcopy-libc`, `bcopy-hand`, `aligned-bcopy-libc`, `partial-bcopy-hand`: copies from one area of memory to another, both
//! larger than the caches. The bytes copied count once.
//!
//! Both areas begin with a page, but the copy of `aligned-bcopy-libc` begins 1920 bytes behind a page's begin: so LMbench's
//! program has them (the addresses that it calls `memmove(3)` with), whatever its name for the row says. A copy that begins
//! 128 bytes before a page's end is 8 % faster than either. By hand: a load and a store for every
//! integer of 4 bytes, or for every fourth, a piece in an operation, as in `memory-read`; the library copies the whole area by one call,
//! because it chooses how by the size.

use std::hint::black_box;
use std::io;

use headwater_os_tools::mapping::{Memory, page_bytes};

use super::memory::PIECE;
use super::words::{EVERY, FOURTH, copy};
use crate::facilities::operation::{Figure, Operation, need};
use crate::harness::conduct::Job;
use crate::harness::lmbench_rule::LmbenchRule;
use crate::transports::Unavailable;

/// Each area, bytes.
const AREA: usize = 64 << 20;

/// How far behind a page's begin the copy of `aligned-bcopy-libc` begins, bytes.
const BEHIND: usize = 1920;

/// The code that copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Library,
    Integers,
    FourthIntegers,
}

/// A process with two areas of memory.
#[derive(Debug)]
pub struct Copy {
    by: By,
    original: Memory,
    copy: Memory,
    /// Where the copy begins in its area, bytes.
    offset: usize,
    /// Bytes of an operation.
    piece: usize,
    /// The piece whose turn it is.
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
    const LMBENCH_RULE: LmbenchRule = LmbenchRule::Best;

    fn quantity(job: &Job) -> f64 {
        piece_bytes(job) as f64
    }

    fn prepare(job: &Job) -> Result<Copy, Unavailable> {
        let (by, offset) = match job.row.subject.as_str() {
            "bcopy-libc" => (By::Library, 0),
            "bcopy-hand" => (By::Integers, 0),
            "aligned-bcopy-libc" => (By::Library, BEHIND),
            _ => (By::FourthIntegers, 0),
        };
        need(2 * AREA as u64)?;
        let area = |len| Memory::populated(len).map_err(|error| Unavailable::call("mmap", error));
        Ok(Copy {
            by,
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
        let step = if self.by == By::FourthIntegers { 4 } else { 1 };
        let expected = |index: usize| if index.is_multiple_of(step) { index as u32 + 1 } else { 0 };
        let copied = &self.copy.integers()[(self.offset + piece * self.piece) / 4..][..self.piece / 4];
        match copied.iter().enumerate().find(|&(index, integer)| integer.get() != expected(index)) {
            None => Ok(()),
            Some((index, integer)) => Err(io::Error::other(format!(
                "integer {index} of the copy is {}, but was to be {}",
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
        match self.by {
            By::Integers => copy::<EVERY>(original, &mut self.copy.integers_mut()[to / 4..][..bytes / 4]),
            By::FourthIntegers => copy::<FOURTH>(original, &mut self.copy.integers_mut()[to / 4..][..bytes / 4]),
            By::Library => {
                let copied = &mut self.copy.bytes_mut()[to..][..bytes];
                copied.copy_from_slice(&self.original.bytes_mut()[from..][..bytes]);
                // What is copied is used, for all that the compiler knows.
                black_box(copied.as_mut_ptr());
            }
        }
    }
}

fn piece_bytes(job: &Job) -> usize {
    if job.row.subject.ends_with("-libc") { AREA } else { PIECE }
}
