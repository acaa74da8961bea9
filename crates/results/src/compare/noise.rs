//! The drift of a machine: how much identical things differ beyond what the spread of their launches explains. Called
//! by `noise`, and by every comparison of successive runs.

use serde::{Deserialize, Serialize};

use super::ratio::{Ratios, Sample};
use super::{ALPHA, Comparison, Ratio, Verdict};
use crate::estimate::{median_of_sorted, sorted_finite};
use crate::normal::normal_quantile;
use crate::schema::{MetricResult, Run};

/// The drift of a machine, from identical rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Standard deviation of the drift, as a difference of logarithms: 0.02 is about 2 %.
    pub deviation: f64,
    /// The number of rows that it was computed from.
    pub rows: usize,
}

/// More drift than this cannot be the same machine; the limit keeps all results finite.
const DEVIATION_MAX: f64 = 3.0;

/// How much further two runs drift apart than the halves of one. The means of two windows of a random walk, each of
/// length T and with a gap of length G, differ with a variance of 2/3 T + G. Halves are windows of T/2 without a gap;
/// runs are assumed to have a gap of one run's length. An idle machine seldom drifts further during a longer gap.
const APART: f64 = 2.236; // sqrt((2/3 + 1) / (1/3))

/// The drift between runs of a machine of which nothing is known, and that have too few rows to show it: a deviation of 3 %,
/// as two runs one after the other differed on the machines of docs/validation.md.
pub const UNKNOWN: f64 = 0.03;

/// The minimum number of rows that may be outliers. If 5 % of the rows are fewer, this many are allowed, and the bound
/// is adjusted to that larger share.
const OUTLIERS_MIN: usize = 3;

/// Returns the drift of A/A samples. `None` without a sample that has an interval.
///
/// A row's log ratio d has a standard error s from its interval. Of n rows, a may be outliers: 5 % ([`ALPHA`]) of them,
/// but at least [`OUTLIERS_MIN`] and at most half. The drift is the smallest tau for which at most a rows have
/// d^2 > z^2 (s^2 + tau^2), where z is the value that a normal deviate exceeds in absolute value with probability a/n.
/// It is 0 if the launches explain everything.
pub fn drift(samples: &[Sample]) -> Option<Drift> {
    let mut ratios = Ratios::default();
    drift_of(samples.iter().filter_map(|sample| ratios.of(sample)))
}

fn drift_of(ratios: impl Iterator<Item = Ratio>) -> Option<Drift> {
    let rows: Vec<(f64, f64)> = ratios
        .filter_map(|ratio| Some((ratio.value.ln(), ratio.standard_error()?)))
        .filter(|(difference, error)| difference.is_finite() && error.is_finite())
        .collect();
    let least = OUTLIERS_MIN.min(rows.len() / 2);
    let outside = ((rows.len() as f64 * ALPHA) as usize).max(least);
    let count = rows.len();
    Some(Drift { deviation: deviation(rows.into_iter(), outside)?, rows: count })
}

/// Returns the smallest tau for which at most `outside` rows deviate further than it explains, as [`drift`]. Rows are given as
/// log ratio and standard error.
pub(super) fn deviation(rows: impl ExactSizeIterator<Item = (f64, f64)>, outside: usize) -> Option<f64> {
    let share = (outside as f64 / rows.len() as f64).max(ALPHA);
    let z = normal_quantile(1.0 - share / 2.0);
    // The tau at which each row would no longer look different.
    let needed = |(difference, error): (f64, f64)| ((difference / z).powi(2) - error.powi(2)).max(0.0).sqrt();
    let mut needed: Vec<f64> = rows.map(needed).collect();
    needed.sort_by(|a, b| b.total_cmp(a));
    Some(needed.get(outside)?.min(DEVIATION_MAX))
}

/// Returns the drift to expect between runs, from the drift within them: the later half of every row's launches against
/// the earlier half, extrapolated to whole runs. `None` if no row has six launches.
pub fn drift_between<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<Drift> {
    let own = |run: &'a Run| run.results.iter().filter_map(|result| result.metrics.first());
    let samples: Vec<Sample> = runs.into_iter().flat_map(own).filter_map(halves).collect();
    let within = drift(&samples)?;
    Some(Drift { deviation: (within.deviation * APART).min(DEVIATION_MAX), ..within })
}

/// Launches of a half. With fewer, the interval covers too little to distinguish drift from noise.
const HALF_MIN: usize = 3;

/// The result of a comparison of identical things.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// Number of compared rows.
    pub rows: u32,
    /// Blocks of the row with the fewest.
    pub blocks: u32,
    /// Rows whose own p-value is at most alpha; a share of alpha is expected.
    pub below_alpha: u32,
    /// Rows called different after adjustment for the family. Alpha limits the share of runs that have any.
    pub called_different: u32,
    /// Half of the rows differ by less than this share.
    pub difference_median: f64,
    /// 19 of 20 rows differ by less than this share.
    pub difference_p95: f64,
    /// The median half width of the intervals, as a share: about the change that half of the rows could resolve.
    pub resolution_median: f64,
    /// The drift within blocks.
    pub drift: Drift,
}

/// Assesses a comparison of identical things. `None` if no row has an interval.
pub fn assess(comparison: &Comparison) -> Option<Assessment> {
    let judged: Vec<(&Ratio, Verdict)> = comparison
        .rows
        .iter()
        .filter(|row| row.verdict != Verdict::Unjudged)
        .filter_map(|row| row.ratio.as_ref().map(|ratio| (ratio, row.verdict)))
        .filter(|(ratio, _)| ratio.n > 1)
        .collect();
    let of = |quantity: fn(&Ratio) -> f64| {
        sorted_finite(&judged.iter().map(|(ratio, _)| quantity(ratio)).collect::<Vec<f64>>())
    };
    let differences = of(|ratio| ratio.value.ln().abs().exp_m1());
    let widths = of(|ratio| ((ratio.high.ln() - ratio.low.ln()) / 2.0).exp_m1());
    let p95 = differences.get((differences.len() * 19).div_ceil(20).saturating_sub(1))?;
    let count = |wanted: &dyn Fn(&Ratio, Verdict) -> bool| {
        u32::try_from(judged.iter().filter(|(ratio, verdict)| wanted(ratio, *verdict)).count()).unwrap_or(u32::MAX)
    };
    let alpha = comparison.rules.alpha;
    Some(Assessment {
        rows: count(&|_, _| true),
        blocks: judged.iter().map(|(ratio, _)| ratio.n).min()?,
        below_alpha: count(&|ratio, _| ratio.p <= alpha),
        called_different: count(&|_, verdict| matches!(verdict, Verdict::Better | Verdict::Worse)),
        difference_median: median_of_sorted(&differences)?,
        difference_p95: *p95,
        resolution_median: median_of_sorted(&widths)?,
        drift: drift_of(judged.iter().map(|(ratio, _)| **ratio))?,
    })
}

fn halves(metric: &MetricResult) -> Option<Sample> {
    let half = metric.launches.len() / 2;
    let part = |from: usize| MetricResult {
        launches: metric.launches[from..from + half].to_vec(),
        blocks: metric.blocks.get(from..from + half).unwrap_or_default().to_vec(),
        metric: metric.metric.clone(),
        estimate: metric.estimate,
    };
    if half < HALF_MIN {
        return None;
    }
    Sample::independent(&part(0), &part(metric.launches.len() - half))
}

#[cfg(test)]
mod tests;
