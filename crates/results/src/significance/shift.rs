//! The shift between two samples by Hodges and Lehmann (1963): the median over all pairs of launches. Estimate,
//! interval and p-value are one statistic, so they cannot contradict each other.
//!
//! For paired samples, the pairs are the means of two differences (Walsh averages), and the test behind interval and
//! p-value is Wilcoxon's signed-rank test. For independent samples they are the differences of a launch of each side,
//! and the test is Mann and Whitney's. The interval excludes as many pairs at either end as the test permits (Moses);
//! the p-value is the smallest level at which the interval would exclude 0. A pair of exactly 0 counts on both sides,
//! so that ties never create a difference.

use super::null_counts::{Design, NullCounts};

/// The shift of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The median over all pairs.
    pub centre: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The coverage of the interval: at least the requested one, or less if there are too few launches.
    pub confidence: f64,
    /// The two-sided p-value.
    pub p: f64,
    /// The smallest p-value that is possible with this number of launches.
    pub p_reachable: f64,
    /// Blocks, or launches of the side that has fewer.
    pub n: usize,
}

/// Computes shifts at one level, and caches what depends only on the number of launches.
#[derive(Clone, Debug)]
pub struct ShiftEstimator {
    alpha: f64,
    counts: NullCounts,
    /// For the last design: the rank of the pair that bounds the interval, 0 if there is none.
    last: Option<(Design, usize)>,
    /// The pairs of the present sample; kept to reuse the memory.
    pairs: Vec<f64>,
}

/// Up to this many pairs are listed; with more, the required ones are searched for.
const LISTED_MAX: usize = 4096;

impl ShiftEstimator {
    /// Returns an estimator whose intervals are wrong with probability at most `alpha`.
    pub fn at(alpha: f64) -> ShiftEstimator {
        ShiftEstimator { alpha, counts: NullCounts::default(), last: None, pairs: Vec::new() }
    }

    /// Returns the shift of differences within blocks. `None` if there are none, or one is not finite.
    pub fn paired(&mut self, differences: &[f64]) -> Option<Shift> {
        let sorted = sorted(differences)?;
        self.shift(Design::Paired(sorted.len()), &Pairs::Means(&sorted))
    }

    /// Returns the shift of the launches of `b` relative to those of `a`. `None` if a side has none, or one is not
    /// finite.
    pub fn independent(&mut self, a: &[f64], b: &[f64]) -> Option<Shift> {
        let (a, b) = (sorted(a)?, sorted(b)?);
        self.shift(Design::Independent(a.len(), b.len()), &Pairs::Differences(&a, &b))
    }

    fn shift(&mut self, design: Design, pairs: &Pairs<'_>) -> Option<Shift> {
        let count = design.pairs();
        let place = match self.last {
            Some((last, place)) if last == design => place,
            _ => self.counts.end_rank(design, self.alpha),
        };
        self.last = Some((design, place));
        // With so few launches the interval contains all pairs, and its coverage is lower.
        let end = place.max(1);
        let middle = [count.div_ceil(2), count / 2 + 1];
        let (ends, middle, below, above) = if count <= LISTED_MAX {
            pairs.list(&mut self.pairs);
            let not_above = self.pairs.iter().filter(|pair| **pair <= 0.0).count();
            let below = self.pairs.iter().filter(|pair| **pair < 0.0).count();
            let (ends, middle) = ends_and_middle(&mut self.pairs, end);
            (ends, middle, not_above, count - below)
        } else {
            let at = |place| pairs.nth(place);
            let below = pairs.at_most((-0.0f64).next_down());
            ([at(end), at(count + 1 - end)], middle.map(at), pairs.at_most(0.0), count - below)
        };
        let [low, high] = ends;
        let centre = middle[0].midpoint(middle[1]);
        Some(Shift {
            centre,
            low,
            high,
            confidence: (1.0 - 2.0 * self.counts.at_most(design, end - 1)).max(0.0),
            p: (2.0 * self.counts.at_most(design, below.min(above))).min(1.0),
            p_reachable: design.p_reachable(),
            n: design.launches(),
        })
    }
}

/// Returns the smallest number of blocks, or of launches of each side, with which a test can give a p-value of `p`.
pub fn blocks_for(p: f64, paired: bool) -> usize {
    let reachable = |n| if paired { Design::Paired(n) } else { Design::Independent(n, n) }.p_reachable();
    // With a thousand, any p-value above 0 is possible.
    (1..1000).find(|&n| reachable(n) <= p).unwrap_or(1000)
}

/// The pairs of a sample whose sides are in ascending order.
enum Pairs<'a> {
    /// The means of every two, including each with itself.
    Means(&'a [f64]),
    /// The second minus the first.
    Differences(&'a [f64], &'a [f64]),
}

impl Pairs<'_> {
    /// Lists all of them, in no order.
    fn list(&self, into: &mut Vec<f64>) {
        into.clear();
        match self {
            Pairs::Means(values) => {
                for (at, one) in values.iter().enumerate() {
                    into.extend(values[at..].iter().map(|other| one.midpoint(*other)));
                }
            }
            Pairs::Differences(a, b) => {
                for one in *a {
                    into.extend(b.iter().map(|other| other - one));
                }
            }
        }
    }

    /// Counts the pairs that are at most `bound`. Both sides ascend, so each step continues where the previous one
    /// ended.
    fn at_most(&self, bound: f64) -> usize {
        let mut count = 0;
        match self {
            Pairs::Means(values) => {
                let mut end = values.len();
                for (at, one) in values.iter().enumerate() {
                    while end > at && one.midpoint(values[end - 1]) > bound {
                        end -= 1;
                    }
                    count += end.saturating_sub(at);
                }
            }
            Pairs::Differences(a, b) => {
                let mut end = 0;
                for one in *a {
                    while end < b.len() && b[end] - one <= bound {
                        end += 1;
                    }
                    count += end;
                }
            }
        }
        count
    }

    /// Returns the pair with that rank, from 1: the smallest number that this many pairs do not exceed.
    fn nth(&self, place: usize) -> f64 {
        let (mut low, mut high) = (key(f64::MIN), key(f64::MAX));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at_most(value(middle)) >= place { high = middle } else { low = middle + 1 }
        }
        value(low)
    }
}

/// Returns the pairs of rank `end` from below and from above, and the middle two, which are one if the number is odd. It only
/// selects: sorting takes three times as long, and a fleet has millions of samples.
fn ends_and_middle(pairs: &mut [f64], end: usize) -> ([f64; 2], [f64; 2]) {
    let count = pairs.len();
    let select = |part: &mut [f64], place: usize| *part.select_nth_unstable_by(place, f64::total_cmp).1;
    let upper = select(pairs, count / 2);
    let (left, right) = pairs.split_at_mut(count / 2);
    // With a single pair, or with an interval of the middle alone, an end is the middle.
    let low = if end <= left.len() { select(left, end - 1) } else { upper };
    let lower = match count % 2 {
        0 => left.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        _ => upper,
    };
    let high = select(right, count - end - count / 2);
    ([low, high], [lower, upper])
}

/// Returns the values in ascending order; `None` if there is none, or one is not finite.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// Maps a number to an integer of the same order.
fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Returns the number of a key.
fn value(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

#[cfg(test)]
mod tests;
