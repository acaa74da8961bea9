//! The median over launches with its exact interval. Called by the fold that makes a run, and by charts.
//!
//! The interval is that of order statistics: it assumes that launches are independent and nothing else, neither a
//! normal distribution nor a common variance. It never resamples and never drops an outlier.

use serde::{Deserialize, Serialize};

/// Coverage that an interval must reach when there are enough launches, 0..1.
pub const COVERAGE_MIN: f64 = 0.95;

/// A median and the interval that holds the true one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Median of the values, in their unit.
    pub median: f64,
    /// Lower end of the interval, one of the values.
    pub low: f64,
    /// Upper end of the interval, one of the values.
    pub high: f64,
    /// The coverage that the interval really has, 0..1: at least [`COVERAGE_MIN`] from six values on, less below.
    pub confidence: f64,
    /// How many finite values there were.
    pub n: u32,
}

impl Estimate {
    /// Estimate from one value per launch.
    ///
    /// The interval is the tightest pair of order statistics, the k-th from below and the k-th from above, that
    /// covers the true median with at least [`COVERAGE_MIN`]: 1 - 2 P(Bin(n, 1/2) < k) (David and Nagaraja, Order
    /// Statistics, 3rd ed., section 7.1). Below six values even the extremes cover less, and `confidence` says so.
    /// Values that are not finite are ignored; `None` when none is left.
    pub fn of_launches(values: &[f64]) -> Option<Estimate> {
        let sorted = sorted_finite(values);
        let (rank, confidence) = interval_rank(sorted.len())?;
        Some(Estimate {
            median: median_of_sorted(&sorted)?,
            low: sorted[rank - 1],
            high: sorted[sorted.len() - rank],
            confidence,
            n: u32::try_from(sorted.len()).unwrap_or(u32::MAX),
        })
    }

    /// Whether the two intervals share a value.
    pub fn overlaps(&self, other: &Estimate) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Half the width of the interval as a share of the median. `None` when the median is zero and the interval is
    /// not, for then no share exists.
    pub fn relative_half_width(&self) -> Option<f64> {
        let half = self.high / 2.0 - self.low / 2.0;
        if half == 0.0 {
            return Some(0.0);
        }
        let share = half / self.median.abs();
        share.is_finite().then_some(share)
    }
}

/// Median of the finite values; the mean of the middle two when their number is even. `None` when there is none.
pub fn median(values: &[f64]) -> Option<f64> {
    median_of_sorted(&sorted_finite(values))
}

/// The finite values in ascending order.
pub(crate) fn sorted_finite(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Median of ascending values.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(sorted[sorted.len() / 2 - 1].midpoint(upper))
}

/// The rank k (from 1) of the interval's ends for `n` values, and the coverage that the interval has.
fn interval_rank(n: usize) -> Option<(usize, f64)> {
    if n == 0 {
        return None;
    }
    let mut term = BinomialTerm::first(n);
    let mut below = term.value();
    let mut best = (1, 1.0 - 2.0 * below);
    for rank in 2..=n / 2 {
        term.advance();
        below += term.value();
        let coverage = 1.0 - 2.0 * below;
        if coverage < COVERAGE_MIN {
            break;
        }
        best = (rank, coverage);
    }
    Some(best)
}

/// P(Bin(n, 1/2) = i) for i from 0 upwards.
struct BinomialTerm {
    n: f64,
    i: f64,
    /// The probability itself, or its logarithm where it would underflow.
    state: f64,
    logarithmic: bool,
}

/// 0.5^n is a normal number up to here, and for small n every term is exact.
const DIRECT_MAX: usize = 1000;

impl BinomialTerm {
    fn first(n: usize) -> BinomialTerm {
        let logarithmic = n > DIRECT_MAX;
        let state = if logarithmic { -(n as f64) * std::f64::consts::LN_2 } else { 0.5_f64.powi(n as i32) };
        BinomialTerm { n: n as f64, i: 0.0, state, logarithmic }
    }

    fn value(&self) -> f64 {
        if self.logarithmic { self.state.exp() } else { self.state }
    }

    fn advance(&mut self) {
        let (up, down) = (self.n - self.i, self.i + 1.0);
        self.state = if self.logarithmic { self.state + (up / down).ln() } else { self.state * up / down };
        self.i += 1.0;
    }
}

#[cfg(test)]
mod tests;
