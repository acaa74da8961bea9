//! How much identical things differ beyond what the spread of their launches explains: the drift of a machine. Called by
//! `noise`, and by every comparison of runs that were made one after the other.

use serde::{Deserialize, Serialize};

use super::ratio::{Ratios, Sample};
use super::{ALPHA, Comparison, Ratio, Verdict};
use crate::estimate::{median_of_sorted, sorted_finite};
use crate::normal::normal_quantile;
use crate::schema::{MetricResult, Run};

/// What identical rows say about a machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Standard deviation of the drift, as a difference of logarithms: 0.02 is about 2 %.
    pub deviation: f64,
    /// How many rows it was learnt from.
    pub rows: usize,
}

/// More drift than this is another machine; the limit keeps everything finite.
const DEVIATION_MAX: f64 = 3.0;

/// How much further two runs drift apart than the halves of one: the means of two windows of a random walk, each of
/// length T and G apart, differ with a variance of 2/3 T + G; halves are windows of T/2 without a gap, and the runs are
/// taken to be a run's length apart. A machine that is left alone for longer seldom walks on for all that time.
const APART: f64 = 2.236; // sqrt((2/3 + 1) / (1/3))

/// Rows that may be as wild as they like without deciding alone: where 5 % of the rows are fewer, so many are left out, and
/// the others are held to what so large a share of normal deviates keeps within.
const WILD: usize = 3;

/// The drift that A/A samples show. `None` without a sample that has an interval.
///
/// A row's log ratio d has a standard error s by its interval. Of n rows, a may be outside: 5 % ([`ALPHA`]) of them, but no
/// fewer than [`WILD`] and no more than half. The drift is the smallest tau for which no more than a rows have
/// d^2 > z^2 (s^2 + tau^2), z being what a normal deviate exceeds, up or down, with probability a/n; 0 where launches explain
/// everything.
pub fn drift(samples: &[Sample]) -> Option<Drift> {
    let mut ratios = Ratios::default();
    drift_of(samples.iter().filter_map(|sample| ratios.of(sample)))
}

fn drift_of(ratios: impl Iterator<Item = Ratio>) -> Option<Drift> {
    let rows: Vec<(f64, f64)> = ratios
        .filter_map(|ratio| Some((ratio.value.ln(), ratio.standard_error()?)))
        .filter(|(difference, error)| difference.is_finite() && error.is_finite())
        .collect();
    let least = WILD.min(rows.len() / 2);
    let outside = ((rows.len() as f64 * ALPHA) as usize).max(least);
    let share = (outside as f64 / rows.len() as f64).max(ALPHA);
    let z = normal_quantile(1.0 - share / 2.0);
    // What tau each row needs in order not to look different.
    let needed = |(difference, error): (f64, f64)| ((difference / z).powi(2) - error.powi(2)).max(0.0).sqrt();
    let mut needed: Vec<f64> = rows.iter().copied().map(needed).collect();
    needed.sort_by(|a, b| b.total_cmp(a));
    let deviation = needed.get(outside)?.min(DEVIATION_MAX);
    Some(Drift { deviation, rows: needed.len() })
}

/// The drift to expect between runs, learnt from within them: the later half of every row's launches against the earlier
/// half, and how much further apart whole runs are. `None` where no row has six launches.
pub fn drift_between<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<Drift> {
    let own = |run: &'a Run| run.results.iter().filter_map(|result| result.metrics.first());
    let samples: Vec<Sample> = runs.into_iter().flat_map(own).filter_map(halves).collect();
    let within = drift(&samples)?;
    Some(Drift { deviation: (within.deviation * APART).min(DEVIATION_MAX), ..within })
}

/// Launches of a half: of fewer the interval of a difference covers too little to tell drift from noise.
const HALF_MIN: usize = 3;

/// What a comparison of identical things shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// Rows compared.
    pub rows: u32,
    /// Blocks of the row that has fewest.
    pub blocks: u32,
    /// Rows whose own p-value is at most alpha: alpha of all is what to expect.
    pub below_alpha: u32,
    /// Rows called different, the family considered: a run with any is what alpha counts.
    pub called_different: u32,
    /// Half of the rows differ by less than this share.
    pub difference_median: f64,
    /// 19 of 20 rows differ by less than this share.
    pub difference_p95: f64,
    /// The median half width of the intervals, as a share: about the change that half of the rows can resolve.
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
