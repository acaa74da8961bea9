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

/// Compares texts with numbers in them by the numbers: `6.9.1` is before `6.12.0`, and so is `6.12.0-rc2`.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let ((one, rest_a), (other, rest_b)) = (token(a), token(b));
        // A candidate for a release is before the release, which is before everything that is added to its name.
        let rank = |token: &str| match token {
            "-rc" => 0,
            "" => 1,
            _ => 2,
        };
        if one.is_empty() || other.is_empty() || rank(one) != rank(other) {
            return rank(one).cmp(&rank(other));
        }
        let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
        let order = if is_number(one) && is_number(other) {
            let digits = |text: &str| text.trim_start_matches('0').len();
            digits(one).cmp(&digits(other)).then_with(|| one.trim_start_matches('0').cmp(other.trim_start_matches('0')))
        } else {
            one.cmp(other)
        };
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (rest_a, rest_b);
    }
}

/// Returns the digits or the other characters at the beginning, and the rest.
fn token(text: &str) -> (&str, &str) {
    let is_digit = text.starts_with(|first: char| first.is_ascii_digit());
    let end = text.find(|next: char| next.is_ascii_digit() != is_digit).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests;
