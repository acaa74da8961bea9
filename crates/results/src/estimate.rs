//! The median over launches with its exact interval. Called by the fold that makes a run, and by charts.
//!
//! The interval is that of order statistics. It assumes only that launches are independent; neither a normal
//! distribution nor a common variance. It never resamples and never drops an outlier.

use serde::{Deserialize, Serialize};

/// Minimum coverage of an interval if there are enough launches, 0..1.
pub const COVERAGE_MIN: f64 = 0.95;

/// A median and the interval for the true median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Median of the values, in their unit.
    pub median: f64,
    /// Lower end of the interval, one of the values.
    pub low: f64,
    /// Upper end of the interval, one of the values.
    pub high: f64,
    /// The actual coverage of the interval, 0..1: at least [`COVERAGE_MIN`] with six values or more, less with fewer.
    pub confidence: f64,
    /// Number of finite values.
    pub n: u32,
}

impl Estimate {
    /// Returns the estimate for one value per launch.
    ///
    /// The interval is the tightest pair of order statistics, the k-th from below and the k-th from above, that covers
    /// the true median with at least [`COVERAGE_MIN`]: 1 - 2 P(Bin(n, 1/2) < k) (David and Nagaraja, Order Statistics,
    /// 3rd ed., section 7.1). With fewer than six values even the extremes cover less; `confidence` is the actual
    /// coverage. Values that are not finite are ignored; `None` if none is left.
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

    /// Whether the two intervals have a value in common.
    pub fn overlaps(&self, other: &Estimate) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Returns half the width of the interval as a share of the median. `None` if the median is zero and the interval
    /// is not.
    pub fn relative_half_width(&self) -> Option<f64> {
        let half = self.high / 2.0 - self.low / 2.0;
        if half == 0.0 {
            return Some(0.0);
        }
        let share = half / self.median.abs();
        share.is_finite().then_some(share)
    }
}

/// Returns the median of the finite values; the mean of the middle two if their number is even. `None` if there is
/// none.
pub fn median(values: &[f64]) -> Option<f64> {
    median_of_sorted(&sorted_finite(values))
}

/// Returns the finite values in ascending order.
pub(crate) fn sorted_finite(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns the median of ascending values.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(sorted[sorted.len() / 2 - 1].midpoint(upper))
}

/// Returns the rank k (from 1) of the interval's ends for `n` values, and the coverage.
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
    /// The probability, or its logarithm if it would underflow.
    state: f64,
    logarithmic: bool,
}

/// Up to this n, 0.5^n is a normal number, and for small n every term is exact.
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
