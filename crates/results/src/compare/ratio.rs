//! The ratio of one row's two sides, with its interval and p-value.
//!
//! Ratios are taken of logarithms: a factor of two up and one down are equally far from 1, and a geometric mean does not
//! care which side is the baseline.

use std::collections::BTreeMap;

use super::Ratio;
use crate::resample::{Resamples, mean, variance_of_mean};
use crate::schema::MetricResult;
use crate::significance::ranks::{self, Independent};
use crate::significance::sign_flip;

/// Computes ratios; keeps the resamples of each number of launches that it meets.
#[derive(Debug, Default)]
pub struct Ratios {
    /// By number of launches and stream.
    resamples: BTreeMap<(usize, u64), Resamples>,
    ranks: Independent,
}

/// The streams of resamples: the second is for the baseline where the sides are independent.
const STREAMS: [u64; 2] = [0, 1];

/// The logarithms that a ratio is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// Of candidate over baseline, by block.
    Paired(Vec<f64>),
    /// Of the baseline's launches, and of the candidate's.
    Independent(Vec<f64>, Vec<f64>),
}

impl Sample {
    /// Pairs by block: what only one side has is left out. `None` where a value has no logarithm or nothing is left.
    pub fn paired(baseline: &MetricResult, candidate: &MetricResult) -> Option<Sample> {
        // Blocks are stored in ascending order, but a file may say anything.
        let of_baseline: BTreeMap<u32, f64> = blocks(baseline).collect();
        let differences: Option<Vec<f64>> = blocks(candidate)
            .filter_map(|(block, value)| Some((*of_baseline.get(&block)?, value)))
            .map(|(before, after)| Some(logarithm(after)? - logarithm(before)?))
            .collect();
        differences.filter(|differences| !differences.is_empty()).map(Sample::Paired)
    }

    /// All launches of both sides. `None` where a value has no logarithm or a side has no launch.
    pub fn independent(baseline: &MetricResult, candidate: &MetricResult) -> Option<Sample> {
        let logarithms =
            |of: &MetricResult| of.launches.iter().map(|&value| logarithm(value)).collect::<Option<Vec<f64>>>();
        let (a, b) = (logarithms(baseline)?, logarithms(candidate)?);
        (!a.is_empty() && !b.is_empty()).then_some(Sample::Independent(a, b))
    }

    /// The logarithm of the ratio.
    pub fn centre(&self) -> f64 {
        match self {
            Sample::Paired(differences) => mean(differences),
            Sample::Independent(a, b) => mean(b) - mean(a),
        }
    }

    /// The standard error of [`Sample::centre`]; `None` where a side has a single launch.
    pub fn standard_error(&self) -> Option<f64> {
        match self {
            Sample::Paired(differences) => Some(variance_of_mean(differences)?.sqrt()),
            Sample::Independent(a, b) => Some((variance_of_mean(a)? + variance_of_mean(b)?).sqrt()),
        }
    }

    /// Degrees of freedom of [`Sample::standard_error`].
    pub fn freedom(&self) -> usize {
        match self {
            Sample::Paired(differences) => differences.len().saturating_sub(1),
            Sample::Independent(a, b) => (a.len() + b.len()).saturating_sub(2),
        }
    }
}

impl Ratios {
    /// The ratio of a sample. Without an interval (a single launch) both its ends are the value itself.
    pub fn of(&mut self, sample: &Sample) -> Ratio {
        let centre = sample.centre();
        let (n, interval, p, p_reachable) = match sample {
            Sample::Paired(differences) => {
                let n = differences.len();
                let interval = self.resamples(n, STREAMS[0]).interval(differences);
                (n, interval, sign_flip::p_value(differences), sign_flip::p_reachable(n))
            }
            Sample::Independent(a, b) => {
                self.resamples(a.len(), STREAMS[1]);
                self.resamples(b.len(), STREAMS[0]);
                let side = |values: &'_ [f64], stream| &self.resamples[&(values.len(), stream)];
                let interval = Resamples::interval_of_difference((side(a, STREAMS[1]), a), (side(b, STREAMS[0]), b));
                let p_reachable = ranks::independent_reachable(a.len(), b.len());
                (a.len().min(b.len()), interval, self.ranks.p_value(a, b), p_reachable)
            }
        };
        let (low, high) = interval.unwrap_or((centre, centre));
        Ratio {
            value: centre.exp(),
            low: low.exp(),
            high: high.exp(),
            standard_error: sample.standard_error(),
            n: u32::try_from(n).unwrap_or(u32::MAX),
            paired: matches!(sample, Sample::Paired(_)),
            p,
            p_reachable,
        }
    }

    fn resamples(&mut self, n: usize, stream: u64) -> &Resamples {
        self.resamples.entry((n, stream)).or_insert_with(|| Resamples::new(n, stream))
    }
}

fn blocks(metric: &MetricResult) -> impl Iterator<Item = (u32, f64)> + '_ {
    metric.blocks.iter().copied().zip(metric.launches.iter().copied())
}

/// Only of positive numbers.
fn logarithm(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| value.ln())
}

#[cfg(test)]
mod tests;
