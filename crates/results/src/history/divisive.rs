//! Change points of a series by the hierarchical divisive method (E-divisive) of Matteson and James (2014), "A
//! Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", on ranks. Called by the history.
//!
//! A segment is split where the energy distance between its two parts, weighted by their lengths, is largest. The split
//! is a change point if few random orders of the same values have as large a distance. MongoDB searches its performance
//! series by the same method (Daly et al., ICPE 2020), with second parts that always extend to the end of the segment.
//!
//! The values are replaced by their ranks within the segment: then the distribution without a change depends on nothing
//! but the number of values, one wild run counts as one run, and the machine's two speeds do not hide a small step in one
//! of them. It reads no clock; the random orders follow from a seed.

use std::ops::Range;

use crate::random::Random;

/// The fewest values between two change points.
pub const SEGMENT_MIN: usize = 2;

/// The fewest values of which some order has a p-value well below 5 %.
pub const VALUES_MIN: usize = 10;

/// The most values: sums of distances then fit into 32 bits.
pub const VALUES_MAX: usize = 20_000;

/// The random orders of a test, unless a smaller level needs more.
const ORDERS: usize = 999;

/// The most random orders of a test.
const ORDERS_MAX: usize = 99_999;

/// A test ends when this many random orders were as large: the p-value is this number over that of the orders so far
/// (Besag and Clifford, "Sequential Monte Carlo p-values", 1991).
const EXCEEDANCES: usize = 20;

/// The seed of every search: the same series has the same change points everywhere.
const SEED: u64 = 0x0068_6973_746f_7279;

/// The best place to split a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// The index of the first value after it.
    pub at: usize,
    /// The p-value of the permutation test.
    pub p: f64,
}

/// Searches series for change points.
#[derive(Clone, Debug)]
pub struct Search {
    random: Random,
    orders: usize,
}

impl Search {
    /// Returns a search that can find p-values below `level`, down to a bound.
    pub fn at(level: f64) -> Search {
        let needed = (2.0 / level).ceil() as usize;
        Search { random: Random::new(SEED), orders: needed.clamp(ORDERS + 1, ORDERS_MAX + 1) - 1 }
    }

    /// Returns the best split of all values with its p-value. `None` if there are too few or too many values, or one is
    /// not a number.
    pub fn best(&mut self, values: &[f64]) -> Option<Split> {
        let is_fit = (2 * SEGMENT_MIN..=VALUES_MAX).contains(&values.len()) && values.iter().all(|one| !one.is_nan());
        is_fit.then(|| self.tested(values, &segments(&[], values.len()))).flatten()
    }

    /// Returns the change points with p-values of at most `level`, ascending.
    ///
    /// Segments are split one at a time, the most different one first, until a test fails. Then every point is tested
    /// again between its two neighbours, and points that fail are removed: a split of a series with two changes is not
    /// always at one of them.
    pub fn changes(&mut self, values: &[f64], level: f64) -> Vec<Split> {
        let mut splits: Vec<Split> = Vec::new();
        if self.best(values).is_none() {
            return splits;
        }
        while let Some(split) = self.tested(values, &segments(&splits, values.len())) {
            if split.p > level {
                break;
            }
            splits.push(split);
            splits.sort_by_key(|split| split.at);
        }
        self.confirmed(values, splits, level)
    }

    /// Tests every point between its neighbours, and removes those that fail, the weakest first. A point keeps its place:
    /// the best split between two neighbours that are close is drawn to the middle.
    fn confirmed(&mut self, values: &[f64], mut splits: Vec<Split>, level: f64) -> Vec<Split> {
        loop {
            let again: Vec<f64> = (0..splits.len())
                .map(|place| {
                    let from = place.checked_sub(1).map_or(0, |before| splits[before].at);
                    let to = splits.get(place + 1).map_or(values.len(), |after| after.at);
                    let segment = from..to;
                    self.tested(values, std::slice::from_ref(&segment)).map_or(1.0, |split| split.p)
                })
                .collect();
            match (0..again.len()).max_by(|&a, &b| again[a].total_cmp(&again[b])) {
                // Its neighbours now have other neighbours.
                Some(weakest) if again[weakest] > level => drop(splits.remove(weakest)),
                _ => {
                    splits.iter_mut().zip(again).for_each(|(split, p)| split.p = split.p.max(p));
                    return splits;
                }
            }
        }
    }

    /// Returns the best split of all segments. The test orders the values within every segment at random, and takes the
    /// best split of all of them.
    fn tested(&mut self, values: &[f64], segments: &[Range<usize>]) -> Option<Split> {
        let mut ranked: Vec<Ranked> = segments
            .iter()
            .filter(|one| one.len() >= 2 * SEGMENT_MIN)
            .map(|one| Ranked::of(values, one.clone()))
            .collect();
        let (at, observed) = best_of(&ranked)?;
        // Equal values have no distance, whatever their order.
        if observed <= 0.0 {
            return Some(Split { at, p: 1.0 });
        }
        // Sums in another order differ in the last digits.
        let as_large = observed * (1.0 - 1e-9);
        let mut exceedances = 0;
        for order in 1..=self.orders {
            for segment in &mut ranked {
                self.random.shuffle(&mut segment.ranks);
            }
            exceedances += usize::from(best_of(&ranked).is_some_and(|(_, distance)| distance >= as_large));
            if exceedances == EXCEEDANCES {
                return Some(Split { at, p: exceedances as f64 / order as f64 });
            }
        }
        Some(Split { at, p: (exceedances + 1) as f64 / (self.orders + 1) as f64 })
    }
}

/// Returns the segments between the points.
fn segments(splits: &[Split], length: usize) -> Vec<Range<usize>> {
    let ends = splits.iter().map(|split| split.at).chain([length]);
    let starts = [0].into_iter().chain(splits.iter().map(|split| split.at));
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// Returns the best split of the segments and its weighted distance.
fn best_of(segments: &[Ranked]) -> Option<(usize, f64)> {
    let splits = segments.iter().map(Ranked::best);
    splits.reduce(|best, one| if one.1 > best.1 { one } else { best })
}

/// A segment, as twice the ranks of its values: ties have the mean of their ranks.
struct Ranked {
    start: usize,
    ranks: Vec<i32>,
}

impl Ranked {
    fn of(values: &[f64], segment: Range<usize>) -> Ranked {
        let mut sorted = values[segment.clone()].to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let rank = |value: &f64| {
            let below = sorted.partition_point(|other| other < value);
            let not_above = sorted.partition_point(|other| other <= value);
            // Twice the mean of the ranks below + 1 to not_above.
            i32::try_from(below + 1 + not_above).unwrap_or(i32::MAX)
        };
        Ranked { start: segment.start, ranks: values[segment].iter().map(rank).collect() }
    }

    /// Returns the best split and its distance: m n / (m + n) times the energy distance of parts of m and n values, in
    /// units of the segment's length, so that segments of different lengths can be compared.
    ///
    /// The first part begins with the segment; the second one may end before it, so that a level that lasts for a while
    /// is not hidden by the return to the former one.
    fn best(&self) -> (usize, f64) {
        // This loop is nearly all the time of a history, and a division is several times as long as a product. Slices and
        // `while`, because a debug build, which tests are, calls a function for each index of a vector and each step of a range.
        let ranks = self.ranks.as_slice();
        let length = ranks.len();
        let of_pairs: Vec<f64> = (0..=length).map(|count| 2.0 / (count * count.saturating_sub(1)) as f64).collect();
        // The sum of all distances within the values from the index to the present end, and from the start to the index.
        let (mut from, mut up_to) = (vec![0.0; length], vec![0.0; length + 1]);
        let (of_pairs, from, up_to) = (of_pairs.as_slice(), from.as_mut_slice(), up_to.as_mut_slice());
        let mut best = (SEGMENT_MIN, f64::NEG_INFINITY);
        for end in 1..=length {
            let last = ranks[end - 1];
            let (mut to_last, mut at) = (0_i32, end - 1);
            while at > 0 {
                at -= 1;
                let distance = ranks[at] - last;
                to_last += if distance < 0 { -distance } else { distance };
                from[at] += f64::from(to_last);
            }
            up_to[end] = from[0];
            let share = 1.0 / end as f64;
            let mut at = SEGMENT_MIN;
            while at + SEGMENT_MIN <= end {
                let (m, n) = (at, end - at);
                let across = up_to[end] - up_to[at] - from[at];
                // m n / (m + n) times the distance: twice the mean across, less the means within.
                let within = up_to[at] * of_pairs[m] + from[at] * of_pairs[n];
                let weighted = share * (2.0 * across - (m * n) as f64 * within);
                if weighted > best.1 {
                    best = (at, weighted);
                }
                at += 1;
            }
        }
        (self.start + best.0, best.1 / (2 * length) as f64)
    }
}

#[cfg(test)]
mod tests;
