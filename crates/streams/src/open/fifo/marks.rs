//! Marks: locks on a FIFO's node (`F_OFD_SETLK`, for writing) that show which processes have it open.
//!
//! A mark lies on a byte whose number names the process and its descriptor of the stream's memory, so that the memory is found
//! without a look at other processes. It is a hint: the file found there is checked like any file that another process
//! names. The kernel removes a mark with the last copy of its open file, and lets only processes mark the node that may
//! write it.
//!
//! A user who may only read the node can lock it for reading, and so keep other processes from marking it.

use std::os::fd::AsFd;

use headwater_os::descriptors::Found;
use headwater_os::ofd_lock::{self, Marked};

use crate::error::Result;
use crate::process::region::Region;

/// The first marked byte: no file is as long.
const FIRST: u64 = 1 << 60;
const COUNT: u64 = 1 << 60;

/// The number of a byte: from above the stream's tag, the process, the descriptor, and a counter for the case that a
/// forked child still has a mark of the same.
const TAG_BITS: u32 = 14;
const PID_BITS: u32 = 22;
const NUMBER_BITS: u32 = 20;
const VARIANT_BITS: u32 = 4;
const _: () = assert!(1 << (TAG_BITS + PID_BITS + NUMBER_BITS + VARIANT_BITS) == COUNT);

/// The largest number of marks that are checked. A stream has 64 members; several times that number are not ours.
const LOOKS: usize = 256;

/// The bytes of the streams that are told apart from others by their memory's inode.
fn of_stream(region: &Region) -> u64 {
    let tag = region.inode & ((1 << TAG_BITS) - 1);
    FIRST + (tag << (PID_BITS + NUMBER_BITS + VARIANT_BITS))
}

/// Marks the node for a stream that this process has open, until all copies of `node` are closed. False if others' locks are
/// in the way.
pub(super) fn set(node: impl AsFd, region: &Region) -> Result<bool> {
    let memory = Found::own(region.as_fd());
    let number = u64::from(memory.number).min((1 << NUMBER_BITS) - 1);
    let byte = of_stream(region) + (((u64::from(memory.pid) << NUMBER_BITS) + number) << VARIANT_BITS);
    for variant in 0..1 << VARIANT_BITS {
        if ofd_lock::mark(&node, byte + variant, 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether there are locks where marks would be, of whatever kind.
pub(super) fn are_locked(node: impl AsFd) -> Result<bool> {
    Ok(ofd_lock::is_locked(node, FIRST, COUNT)?)
}

/// The descriptors that the marks name, without those of `except`. None for a mark that names nothing.
pub(super) struct Marks<N> {
    node: N,
    /// Ranges that have not been asked for.
    ranges: Vec<(u64, u64)>,
    left: usize,
}

impl<N: AsFd> Marks<N> {
    pub fn of(node: N, except: Option<&Region>) -> Marks<N> {
        let (start, end) = (FIRST, FIRST + COUNT);
        let ranges = match except {
            None => vec![(start, end)],
            Some(region) => {
                let own = of_stream(region);
                vec![(start, own), (own + (1 << (PID_BITS + NUMBER_BITS + VARIANT_BITS)), end)]
            }
        };
        Marks { node, ranges, left: LOOKS }
    }
}

impl<N: AsFd> Iterator for Marks<N> {
    type Item = Result<Option<Found>>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some((start, end)) = self.ranges.pop() {
            if start >= end {
                continue;
            }
            let Marked { start: at, len } = match ofd_lock::marked(&self.node, start, end - start) {
                Err(error) => return Some(Err(error.into())),
                Ok(None) => continue,
                Ok(Some(marked)) => marked,
            };
            self.left -= 1;
            if self.left == 0 {
                self.ranges.clear();
                return Some(Ok(None));
            }
            self.ranges.extend([(start, at), (at.saturating_add(len), end)]);
            return Some(Ok(if len == 1 { Some(named_by(at)) } else { None }));
        }
        None
    }
}

/// The descriptor that a byte names.
fn named_by(byte: u64) -> Found {
    let part = |from: u32, bits: u32| (byte >> from & ((1 << bits) - 1)) as u32;
    Found { number: part(VARIANT_BITS, NUMBER_BITS), pid: part(VARIANT_BITS + NUMBER_BITS, PID_BITS) }
}

#[cfg(all(test, not(loom)))]
mod tests;
