//! `bcopy-libc`, `bcopy-hand`, `aligned-bcopy-libc`, `partial-bcopy-hand`: copies from one area of memory to another, both
//! larger than the caches. The bytes copied count once.
//!
//! Both areas begin with a page, but the copy of `aligned-bcopy-libc` begins 1920 bytes behind a page's begin: so LMbench's
//! program has them (the addresses that it calls `memmove(3)` with), whatever its name for the row says. A copy that begins
//! 128 bytes before a page's end is 8 % faster than either. By hand: a load and a store of 8 bytes for
//! every word, or for every fourth, a piece in an operation, as in `memory-read`; the library copies the whole area by one call,
//! because it chooses how by the size.

use std::hint::black_box;
use std::io;

use headwater_os::mapping::{Memory, page_bytes};

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
    Words,
    FourthWords,
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
        ("bcopy-hand", "load and store of every word of 64 MiB, bytes counted once"),
        ("aligned-bcopy-libc", "one memcpy() of 64 MiB to 1920 B behind a page's begin"),
        ("partial-bcopy-hand", "load and store of every fourth word of 64 MiB, all bytes counted once"),
    ];
    const FIGURE: Figure = Figure::Bandwidth;
    const LMBENCH_RULE: LmbenchRule = LmbenchRule::Best;

    fn quantity(job: &Job) -> f64 {
        piece_bytes(job) as f64
    }

    fn prepare(job: &Job) -> Result<Copy, Unavailable> {
        let (by, offset) = match job.row.subject.as_str() {
            "bcopy-libc" => (By::Library, 0),
            "bcopy-hand" => (By::Words, 0),
            "aligned-bcopy-libc" => (By::Library, BEHIND),
            _ => (By::FourthWords, 0),
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
        let words = self.original.words_mut()[piece * self.piece / 8..][..self.piece / 8].iter_mut();
        words.zip(1..).for_each(|(word, number)| word.set(number));
        self.copy_piece(piece);
        let step = if self.by == By::FourthWords { 4 } else { 1 };
        let expected = |index: usize| if index.is_multiple_of(step) { index as u64 + 1 } else { 0 };
        let copied = &self.copy.words()[(self.offset + piece * self.piece) / 8..][..self.piece / 8];
        match copied.iter().enumerate().find(|&(index, word)| word.get() != expected(index)) {
            None => Ok(()),
            Some((index, word)) => Err(io::Error::other(format!(
                "word {index} of the copy is {}, but was to be {}",
                word.get(),
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
        let original = &self.original.words()[from / 8..][..bytes / 8];
        match self.by {
            By::Words => copy::<EVERY>(original, &mut self.copy.words_mut()[to / 8..][..bytes / 8]),
            By::FourthWords => copy::<FOURTH>(original, &mut self.copy.words_mut()[to / 8..][..bytes / 8]),
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
