//! A ring of pointers through memory, and following it: each load waits for the one before, so that the time of a load is
//! its latency.

use std::hint::black_box;
use std::io;
use std::ptr::NonNull;

use crate::mapping::Memory;

/// A ring of pointers, all of its memory touched.
#[derive(Debug)]
pub struct Ring {
    at: Place,
    /// Holds the places; nobody else has access.
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

    /// Follows `loads` pointers from where it stands.
    #[inline]
    pub fn follow(&mut self, loads: u64) {
        let mut at = self.at;
        for _ in 0..loads {
            // SAFETY: `at` is a place of the ring, because `new` stored one into each that the tour names.
            at = unsafe { at.cast::<Place>().read() };
        }
        self.at = black_box(at);
    }

    /// Where it stands: the offset of the place in the memory, bytes.
    pub fn offset(&self) -> usize {
        self.at.addr().get() - self.memory.base().addr().get()
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
