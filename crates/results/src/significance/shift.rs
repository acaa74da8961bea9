//! The shift between two samples by Hodges and Lehmann (1963): the median over all pairs of launches. One statistic gives the
//! estimate, the interval and the p-value, so none of them can contradict another.
//!
//! Paired, the pairs are the means of two differences (Walsh averages), and the test behind interval and p-value is Wilcoxon's
//! signed-rank test; independent, they are the differences of a launch of each side, and the test is Mann and Whitney's. The
//! interval leaves out as many pairs at either end as the test allows (Moses); the p-value is the smallest level at which the
//! interval would leave out 0. A pair of exactly 0 counts on both sides: ties never make a difference.

use super::null_counts::{Design, NullCounts};

/// Where a sample's sides are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The median over all pairs.
    pub centre: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The coverage that the interval has: at least what was asked for, less where so few launches cannot have it.
    pub confidence: f64,
    /// The p-value on two sides.
    pub p: f64,
    /// The smallest p-value that so many launches can give.
    pub p_reachable: f64,
    /// Blocks, or launches of the side that has fewer.
    pub n: usize,
}

/// Computes shifts at one level; keeps what depends on the number of launches alone.
#[derive(Clone, Debug)]
pub struct ShiftEstimator {
    alpha: f64,
    counts: NullCounts,
    /// Of the design asked for last: the place of the pair that bounds the interval, 0 where none does.
    last: Option<(Design, usize)>,
    /// The pairs of the sample at hand, kept for their memory.
    pairs: Vec<f64>,
}

/// Up to so many pairs are listed and put into order; of more only the wanted ones are looked for.
const LISTED_MAX: usize = 4096;

impl ShiftEstimator {
    /// Intervals are wrong with probability at most `alpha`.
    pub fn at(alpha: f64) -> ShiftEstimator {
        ShiftEstimator { alpha, counts: NullCounts::default(), last: None, pairs: Vec::new() }
    }

    /// Of differences within blocks. `None` of nothing or of what is no number.
    pub fn paired(&mut self, differences: &[f64]) -> Option<Shift> {
        let sorted = sorted(differences)?;
        self.shift(Design::Paired(sorted.len()), &Pairs::Means(&sorted))
    }

    /// Of launches of `b` against launches of `a`. `None` where a side has nothing or what is no number.
    pub fn independent(&mut self, a: &[f64], b: &[f64]) -> Option<Shift> {
        let (a, b) = (sorted(a)?, sorted(b)?);
        self.shift(Design::Independent(a.len(), b.len()), &Pairs::Differences(&a, &b))
    }

    fn shift(&mut self, design: Design, pairs: &Pairs<'_>) -> Option<Shift> {
        let count = design.pairs();
        let place = match self.last {
            Some((last, place)) if last == design => place,
            _ => self.counts.end_place(design, self.alpha),
        };
        self.last = Some((design, place));
        // So few launches have the interval of all pairs, which covers what it can.
        let end = place.max(1);
        let middle = [count.div_ceil(2), count / 2 + 1];
        let (ends, middle, below, above) = if count <= LISTED_MAX {
            pairs.list(&mut self.pairs);
            let at = |place: usize| self.pairs[place - 1];
            let not_above = self.pairs.partition_point(|pair| *pair <= 0.0);
            let below = self.pairs.partition_point(|pair| *pair < 0.0);
            ([at(end), at(count + 1 - end)], middle.map(at), not_above, count - below)
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

/// The smallest number of blocks, or of launches of each side, at which a test can give a p-value of `p`.
pub fn blocks_for(p: f64, paired: bool) -> usize {
    let reachable = |n| if paired { Design::Paired(n) } else { Design::Independent(n, n) }.p_reachable();
    // A thousand give less than any number that is not 0.
    (1..1000).find(|&n| reachable(n) <= p).unwrap_or(1000)
}

/// The pairs of a sample whose sides are in ascending order.
enum Pairs<'a> {
    /// The means of every two, each with itself too.
    Means(&'a [f64]),
    /// The second less the first.
    Differences(&'a [f64], &'a [f64]),
}

impl Pairs<'_> {
    /// All of them in ascending order.
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
        into.sort_unstable_by(f64::total_cmp);
    }

    /// How many are at most `bound`: both sides ascend, so what one step has counted the next need not look at.
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

    /// The pair at that place, from 1, in ascending order: the smallest number that so many pairs are at most.
    fn nth(&self, place: usize) -> f64 {
        let (mut low, mut high) = (key(f64::MIN), key(f64::MAX));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at_most(value(middle)) >= place { high = middle } else { low = middle + 1 }
        }
        value(low)
    }
}

/// The finite values in ascending order; `None` if there is none, or one that is not finite.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// A whole number that is ordered as the number is.
fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The number of a key.
fn value(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

#[cfg(test)]
mod tests;
