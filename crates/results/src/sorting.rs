//! Sorting of short lists with little code: tables, charts and listings call it, no loop over samples does.
//!
//! Each call of [`slice::sort_by`] with another type is a copy of that algorithm, 6 kB of machine code; a hundred of them
//! were a twentieth of the program. Here the algorithm sorts places, so there is one copy, and the caller's type only
//! compares and swaps.

use std::cmp::Ordering;

/// Stable sorting of a slice.
pub trait Arrange<T> {
    /// As [`slice::sort_by`].
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// As [`slice::sort_by_key`].
    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|one, other| key(one).cmp(&key(other)));
    }
}

impl<T> Arrange<T> for [T] {
    fn arrange_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut places = sorted_places(self.len(), &mut |one, other| compare(&self[one], &self[other]));
        for start in 0..places.len() {
            // A cycle of the permutation: each place takes the element that belongs there, until it is back at its start.
            let mut at = start;
            while places[at] != start {
                let from = places[at];
                self.swap(at, from);
                places[at] = at;
                at = from;
            }
            places[at] = at;
        }
    }
}

/// Returns for each place of the sorted list the place from which its element comes.
#[inline(never)]
fn sorted_places(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|&one, &other| compare(one, other));
    places
}

#[cfg(test)]
mod tests;
