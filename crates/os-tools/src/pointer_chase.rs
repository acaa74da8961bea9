//! A ring of pointers through memory, and following it: each load waits for the one before, so that the time of a load is
//! its latency.

use std::hint::black_box;
use std::io;
use std::ptr::NonNull;

use crate::mapping::Memory;

/// Load instructions in a turn of [`Ring::follow`]. An AMD EPYC (family 25 model 17) prefetches for 1, 32 and 64 of them, in
/// a ring of places 128 B apart: strides of 128 B, 4 KiB and 8 KiB. For 48, 63, 65, 100, 128 and 200 it does not.
const TURN: u64 = 100;

/// A ring of pointers, all of its memory touched.
#[derive(Debug)]
pub struct Ring {
    at: Place,
    /// Holds the places; nothing else accesses it.
    memory: Memory,
}

/// A place that holds the address of another.
type Place = NonNull<u8>;

// SAFETY: the pointers lead into the ring's own memory, which moves to the other thread with it.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring over `len` bytes that leads through the places of `tour`, which are `stride` bytes apart and numbered from 0,
    /// one after the other and back to the first.
    ///
    /// # Errors
    /// `InvalidInput` for a stride that is no multiple of 8, an empty tour, or a place that is not wholly inside; what
    /// `mmap(2)` reports.
    pub fn new(len: usize, stride: usize, tour: &[u32]) -> io::Result<Ring> {
        let places = len.checked_div(stride).unwrap_or(0);
        let is_inside = |&place: &u32| (place as usize) < places;
        let (Some(&first), true, true) =
            (tour.first(), stride.is_multiple_of(align_of::<Place>()), tour.iter().all(is_inside))
        else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no such ring of pointers fits there"));
        };
        let memory = Memory::populated(len)?;
        let base = memory.base();
        // SAFETY: the place is wholly inside the memory: place * stride + stride <= len, checked above, and 8 <= stride.
        let address = |place: u32| unsafe { base.add(place as usize * stride) };
        for (&from, &to) in tour.iter().zip(tour.iter().cycle().skip(1)) {
            // SAFETY: as above; aligned, because the base is aligned to a page and the stride is a multiple of 8.
            unsafe { address(from).cast::<Place>().write(address(to)) };
        }
        Ok(Ring { at: address(first), memory })
    }

    /// Follows `loads` pointers from the current place.
    ///
    /// A turn of the loop has [`TURN`] load instructions, so that a processor that predicts addresses from the instruction that
    /// loads them sees a stride of that many places.
    #[inline]
    pub fn follow(&mut self, loads: u64) {
        let mut at = self.at;
        // SAFETY: `at` is a place of the ring, because `new` stored one into each that the tour names.
        unsafe {
            for _ in 0..loads / TURN {
                at = ten(ten(ten(ten(ten(ten(ten(ten(ten(ten(at))))))))));
            }
            for _ in 0..loads % TURN {
                at = next(at);
            }
        }
        self.at = black_box(at);
    }

    /// The offset of the current place in the memory, bytes.
    pub fn offset(&self) -> usize {
        self.at.addr().get() - self.memory.base().addr().get()
    }
}

/// The place that `at` points to.
///
/// # Safety
/// `at` is a place of a ring.
#[inline(always)]
unsafe fn next(at: Place) -> Place {
    // SAFETY: the caller has a place of a ring, and there a place is stored.
    unsafe { at.cast::<Place>().read() }
}

/// Ten places on, one load instruction each.
///
/// # Safety
/// As [`next`].
#[inline(always)]
unsafe fn ten(at: Place) -> Place {
    // SAFETY: what a place of a ring points to is one too.
    unsafe {
        let at = next(next(next(next(next(at)))));
        next(next(next(next(next(at)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_leads_through_its_tour_and_back() {
        let mut ring = Ring::new(1000, 128, &[2, 0, 6, 5]).expect("it fits");
        let mut offsets = vec![ring.offset()];
        for _ in 0..4 {
            ring.follow(1);
            offsets.push(ring.offset());
        }
        assert_eq!(offsets, [256, 0, 768, 640, 256]);
        ring.follow(4 * 1000 + 3);
        assert_eq!(ring.offset(), 640, "many loads are one load many times");
    }

    #[test]
    fn a_ring_that_does_not_fit_is_refused() {
        for (len, stride, tour) in [
            (0, 128, &[0][..]),
            (4096, 128, &[]),
            (4096, 0, &[0]),
            (4096, 12, &[0]),
            (4096, 4, &[0]),
            (1000, 128, &[7]),
        ] {
            assert!(Ring::new(len, stride, tour).is_err(), "{len} {stride} {tour:?}");
        }
    }
}
