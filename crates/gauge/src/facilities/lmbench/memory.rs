//! `memory-read`, `memory-write`, `partial-mmap-read`, `partial-mmap-write`, `partial-mmap-read-write`, `bzero-copy`:
//! loops over the 4-byte integers of a memory area that is larger than the caches, and the C library's `memset`. Every
//! byte of the area counts once, even where only every fourth integer is touched, because whole cache lines are moved.
//!
//! An operation is a pass over one piece, or for `memset` over the whole area, because it chooses its method by the
//! size. The pieces follow each other through the area, so that a piece is no longer in the caches when it is used
//! again. The page size is the machine's default for anonymous memory.

use std::hint::black_box;
use std::io;

use headwater_os_tools::mapping::Memory as Mapping;

use super::memory_loops::{fill, fill_fourth, sum, sum_and_fill, sum_of_fourth};
use crate::facilities::operation::{Figure, Operation, Probe, need};
use crate::harness::conduct::Job;
use crate::harness::lmbench_rule::LmbenchRule;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// Size of the area in bytes.
const AREA: usize = 256 << 20;

/// Bytes per operation.
pub const PIECE: usize = 8 << 20;

/// The value that is stored.
const VALUE: u32 = 0x0102_0304;

/// What an operation does with a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Read,
    Write,
    PartialRead,
    PartialWrite,
    PartialReadWrite,
    Zero,
}

/// A process with a memory area.
#[derive(Debug)]
pub struct Memory {
    pass: Pass,
    area: Mapping,
    /// The piece that the next operation uses.
    next: usize,
}

impl Operation for Memory {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("memory-read", "sum of every integer of 4 B of 256 MiB"),
        ("memory-write", "store to every integer of 4 B of 256 MiB, backwards within each 512 B"),
        ("partial-mmap-read", "sum of every fourth integer of 256 MiB of anonymous memory, all bytes counted"),
        ("partial-mmap-write", "store to every fourth integer of 256 MiB of anonymous memory, all bytes counted"),
        ("partial-mmap-read-write", "load of and store to every fourth integer of 256 MiB, all bytes counted once"),
        ("bzero-copy", "one memset() of 256 MiB with zeros"),
    ];
    const FIGURE: Figure = Figure::Bandwidth;
    const COST: LaunchCost = LaunchCost::fixed(0.22);
    const LMBENCH_RULE: LmbenchRule = LmbenchRule::Best;

    const PROBE: Option<Probe> = Some(|_| need(AREA as u64));

    fn quantity(job: &Job) -> f64 {
        if job.row.subject == "bzero-copy" { AREA as f64 } else { PIECE as f64 }
    }

    fn prepare(job: &Job) -> Result<Memory, Unavailable> {
        let pass = match job.row.subject.as_str() {
            "memory-read" => Pass::Read,
            "memory-write" => Pass::Write,
            "partial-mmap-read" => Pass::PartialRead,
            "partial-mmap-write" => Pass::PartialWrite,
            "partial-mmap-read-write" => Pass::PartialReadWrite,
            _ => Pass::Zero,
        };
        need(AREA as u64)?;
        let area = Mapping::populated(AREA).map_err(|error| Unavailable::call("mmap", error))?;
        Ok(Memory { pass, area, next: 0 })
    }

    fn check(&mut self) -> io::Result<()> {
        let first = 3 * PIECE / 4;
        let integers = &mut self.area.integers_mut()[first..][..PIECE / 4];
        integers.iter_mut().zip(1..).for_each(|(integer, number)| integer.set(number));
        let touched: u32 = if matches!(self.pass, Pass::Read | Pass::Write | Pass::Zero) { 1 } else { 4 };
        let count = PIECE as u32 / 4;
        let sum_of = |step: u32| (0..count / step).fold(0u32, |sum, index| sum.wrapping_add(index * step + 1));
        let stored = match self.pass {
            Pass::Read | Pass::PartialRead => None,
            Pass::Zero => Some(0),
            Pass::Write | Pass::PartialWrite | Pass::PartialReadWrite => Some(VALUE),
        };
        // The sums of the pieces 0 to 3, of which the first three are zero, and then what the last piece contains.
        let sums: u32 = (0..4).map(|piece| self.pass(piece)).fold(0, u32::wrapping_add);
        let expected_sums =
            if matches!(self.pass, Pass::Write | Pass::PartialWrite | Pass::Zero) { 0 } else { sum_of(touched) };
        let left = sum(&self.area.integers()[first..][..PIECE / 4]);
        let expected_left = match stored {
            None => sum_of(1),
            Some(value) => sum_of(1).wrapping_sub(sum_of(touched)).wrapping_add(value.wrapping_mul(count / touched)),
        };
        match (sums, left) {
            found if found == (expected_sums, expected_left) => Ok(()),
            found => Err(io::Error::other(format!(
                "{:?} of known integers: sum and remaining sum {found:?}, but expected {:?}",
                self.pass,
                (expected_sums, expected_left)
            ))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            black_box(self.pass(self.next));
            self.next = (self.next + 1) % (AREA / PIECE);
        }
        Ok(())
    }
}

impl Memory {
    /// Makes one pass over a piece. Returns the sum of what it loads.
    #[inline]
    fn pass(&mut self, piece: usize) -> u32 {
        let integers = &mut self.area.integers_mut()[piece * (PIECE / 4)..][..PIECE / 4];
        match self.pass {
            Pass::Read => sum(integers),
            Pass::PartialRead => sum_of_fourth(integers),
            Pass::PartialReadWrite => sum_and_fill(integers, VALUE),
            Pass::Write => {
                fill(integers, VALUE);
                0
            }
            Pass::PartialWrite => {
                fill_fourth(integers, VALUE);
                0
            }
            Pass::Zero => {
                let bytes = self.area.bytes_mut();
                bytes.fill(0);
                // The compiler must assume that the bytes are used.
                black_box(bytes.as_mut_ptr());
                0
            }
        }
    }
}
