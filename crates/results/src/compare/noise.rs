//! How much identical things differ beyond what the spread of their launches explains: the drift of a machine. Called by
//! `noise`, and by every comparison of runs that were made one after the other.

use super::ratio::Sample;
use crate::resample::student_quantile;
use crate::schema::{MetricResult, Run};

/// What identical rows say about a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Standard deviation of the drift, as a difference of logarithms: 0.02 is about 2 %.
    pub deviation: f64,
    /// How many rows it was learnt from.
    pub rows: usize,
}

/// Of identical rows so many may look different at this level, 0..1.
const LEVEL: f64 = 0.05;

/// More drift than this is another machine; the limit keeps everything finite.
const DEVIATION_MAX: f64 = 3.0;

/// How much further two runs drift apart than the halves of one: the means of two windows of a random walk, each of
/// length T and G apart, differ with a variance of 2/3 T + G; halves are windows of T/2 without a gap, and the runs are
/// taken to be a run's length apart. A machine that is left alone for longer seldom walks on for all that time.
const APART: f64 = 2.236; // sqrt((2/3 + 1) / (1/3))

/// The drift that A/A samples show. `None` without a sample that has a standard error.
///
/// A row's log ratio d has a standard error s from its launches. The drift is the smallest tau for which no more than
/// 5 % of the rows have d^2 > (t s)^2 + (1.96 tau)^2, t being Student's quantile; 0 where launches explain everything.
pub fn drift(samples: &[Sample]) -> Option<Drift> {
    let mut needed: Vec<f64> = samples
        .iter()
        .filter_map(|sample| {
            let (centre, error) = (sample.centre(), sample.standard_error()?);
            let t = student_quantile(1.0 - LEVEL / 2.0, sample.freedom() as f64);
            // What tau this row needs in order not to look different.
            let needed = (centre.powi(2) - (t * error).powi(2)).max(0.0).sqrt() / 1.96;
            needed.is_finite().then_some(needed)
        })
        .collect();
    let allowed = (needed.len() as f64 * LEVEL) as usize;
    needed.sort_by(|a, b| b.total_cmp(a));
    let deviation = needed.get(allowed)?.min(DEVIATION_MAX);
    Some(Drift { deviation, rows: needed.len() })
}

/// The drift to expect between runs, learnt from within them: the later half of every row's launches against the earlier
/// half, and how much further apart whole runs are. `None` where no row has four launches.
pub fn drift_between<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<Drift> {
    let own = |run: &'a Run| run.results.iter().filter_map(|result| result.metrics.first());
    let samples: Vec<Sample> = runs.into_iter().flat_map(own).filter_map(halves).collect();
    let within = drift(&samples)?;
    Some(Drift { deviation: (within.deviation * APART).min(DEVIATION_MAX), ..within })
}

fn halves(metric: &MetricResult) -> Option<Sample> {
    let half = metric.launches.len() / 2;
    let part = |from: usize| MetricResult {
        launches: metric.launches[from..from + half].to_vec(),
        blocks: metric.blocks.get(from..from + half).unwrap_or_default().to_vec(),
        metric: metric.metric.clone(),
        estimate: metric.estimate,
    };
    if half < 2 {
        return None;
    }
    Sample::independent(&part(0), &part(metric.launches.len() - half))
}

#[cfg(test)]
mod tests;
