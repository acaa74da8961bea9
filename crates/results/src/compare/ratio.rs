//! The ratio of one row's two sides, with its interval and p-value.
//!
//! Ratios are computed from logarithms: a factor of two in either direction is equally far from 1, and the result does
//! not depend on which side is the baseline.

use std::collections::BTreeMap;

use super::resemblance::Resemblance;
use super::{ALPHA, Ratio};
use crate::normal::normal_quantile;
use crate::schema::MetricResult;
use crate::significance::shift::{Shift, ShiftEstimator};
use crate::significance::student;

/// Computes ratios, and caches what depends only on the number of launches.
#[derive(Clone, Debug)]
pub struct Ratios {
    shifts: ShiftEstimator,
}

impl Default for Ratios {
    fn default() -> Ratios {
        Ratios::at(ALPHA)
    }
}

/// The logarithms from which a ratio is computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// Of candidate over baseline, by block.
    Paired(Vec<f64>),
    /// Of the baseline's launches, and of the candidate's.
    Independent(Vec<f64>, Vec<f64>),
}

impl Sample {
    /// Pairs the launches by block; blocks that only one side has are ignored. `None` if a value has no logarithm or no
    /// block is left.
    pub fn paired(baseline: &MetricResult, candidate: &MetricResult) -> Option<Sample> {
        Sample::paired_launches([&baseline.blocks, &candidate.blocks], [&baseline.launches, &candidate.launches])
    }

    /// Pairs launches by their blocks, as [`Sample::paired`].
    pub(crate) fn paired_launches(blocks: [&[u32]; 2], launches: [&[f64]; 2]) -> Option<Sample> {
        let side = |at: usize| blocks[at].iter().copied().zip(launches[at].iter().copied());
        // Stored blocks are ascending, but a file may contain anything.
        let of_baseline: BTreeMap<u32, f64> = side(0).collect();
        let differences: Option<Vec<f64>> = side(1)
            .filter_map(|(block, value)| Some((*of_baseline.get(&block)?, value)))
            .map(|(before, after)| Some(logarithm(after)? - logarithm(before)?))
            .collect();
        differences.filter(|differences| !differences.is_empty()).map(Sample::Paired)
    }

    /// Takes all launches of both sides. `None` if a value has no logarithm or a side has no launch.
    pub fn independent(baseline: &MetricResult, candidate: &MetricResult) -> Option<Sample> {
        Sample::independent_launches([&baseline.launches, &candidate.launches])
    }

    /// Takes all launches of both sides, as [`Sample::independent`].
    pub(crate) fn independent_launches(sides: [&[f64]; 2]) -> Option<Sample> {
        let [a, b] = sides.map(|side| side.iter().map(|&value| logarithm(value)).collect::<Option<Vec<f64>>>());
        let (a, b) = (a?, b?);
        (!a.is_empty() && !b.is_empty()).then_some(Sample::Independent(a, b))
    }
}

/// How much equal sides differ beyond what their launches explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// A standard deviation of logarithms.
    pub deviation: f64,
    /// Its degrees of freedom.
    pub degrees: f64,
    /// The number of such deviations at the level of intervals.
    pub deviate: f64,
}

impl Spread {
    /// Returns the spread of a machine whose deviation is known.
    pub fn known(deviation: f64, alpha: f64) -> Spread {
        Spread { deviation, degrees: f64::INFINITY, deviate: normal_quantile(1.0 - alpha / 2.0) }
    }
}

impl Ratios {
    /// Returns a computation whose intervals are wrong with probability at most `alpha`.
    pub fn at(alpha: f64) -> Ratios {
        Ratios { shifts: ShiftEstimator::at(alpha) }
    }

    /// Returns the ratio of a sample. With a single launch, both ends of the interval are the value itself.
    pub fn of(&mut self, sample: &Sample) -> Option<Ratio> {
        Some(match sample {
            Sample::Paired(differences) => Ratio::of(&self.shifts.paired(differences)?, true),
            Sample::Independent(a, b) => Ratio::of(&self.shifts.independent(a, b)?, false),
        })
    }
}

/// Returns the standard error of each of the ratios, most of which have the same coverage.
pub(crate) fn standard_errors<'a>(ratios: impl IntoIterator<Item = &'a Ratio>) -> Vec<Option<f64>> {
    let mut last = (0.0, 0.0);
    let error = |ratio: &Ratio| {
        if ratio.confidence != last.0 {
            last = (ratio.confidence, normal_quantile(f64::midpoint(1.0, ratio.confidence)));
        }
        ratio.standard_error_at(last.1)
    };
    ratios.into_iter().map(error).collect()
}

impl Ratio {
    /// Returns the ratio whose logarithm is this shift.
    pub(crate) fn of(shift: &Shift, paired: bool) -> Ratio {
        Ratio {
            value: shift.centre.exp(),
            low: shift.low.exp(),
            high: shift.high.exp(),
            confidence: shift.confidence,
            n: u32::try_from(shift.n).unwrap_or(u32::MAX),
            paired,
            p: shift.p,
            p_reachable: shift.p_reachable,
        }
    }

    /// Returns the standard error of the ratio's logarithm: that of a normal variable whose interval extends as far
    /// towards 1. `None` for a single launch, whose interval covers nothing.
    pub fn standard_error(&self) -> Option<f64> {
        self.standard_error_at(normal_quantile(f64::midpoint(1.0, self.confidence)))
    }

    /// Returns the same, where the deviate of the interval's coverage is known: it takes longer than all else.
    fn standard_error_at(&self, deviate: f64) -> Option<f64> {
        (deviate > 0.0).then(|| self.towards_one() / deviate)
    }

    /// Returns the distance between the ratio and the end of its interval that is closer to 1, as a difference of
    /// logarithms.
    fn towards_one(&self) -> f64 {
        if self.value > 1.0 { (self.value / self.low).ln() } else { (self.high / self.value).ln() }
    }

    /// Returns the same ratio on a drifting machine, where equal sides differ by `spread`. It widens the interval and bounds the
    /// p-value from below. The second value is this bound.
    ///
    /// `movement` is the logarithm by which all rows moved. Whether the machine moved or the program changed is unknown,
    /// so the interval holds the ratio with and without it, and the p-value is the larger one. `resemblance` is that of
    /// successive launches; `deviate` is the number of standard deviations at the level of the interval.
    #[must_use]
    pub fn on_drifting_machine(
        self,
        spread: Spread,
        movement: f64,
        resemblance: Option<Resemblance>,
        deviate: f64,
    ) -> (Ratio, f64) {
        let movement = if self.paired { 0.0 } else { movement };
        if spread.deviation <= 0.0 && movement == 0.0 && resemblance.is_none() || self.n < 2 {
            return (self, 0.0);
        }
        let (factor, share) = resemblance.map_or((1.0, 1.0), |found| (found.factor, found.share));
        let wider = |end: f64| (factor * (end / self.value).ln()).hypot(spread.deviate * spread.deviation);
        let (centre, error) = (self.value.ln(), (factor * self.towards_one() / deviate).hypot(spread.deviation));
        // Launches have shown their part of the variance, and rows theirs; each with the tails of their number, which many rows
        // reach (Satterthwaite 1946). What rows show beyond their launches is a difference of two variances. It is
        // known less well than its size, so its share counts in full and not squared.
        let of_launches = (f64::from(self.n) - 1.0) * if self.paired { 1.0 } else { 2.0 } * share;
        let of_rows = (spread.deviation / error).powi(2);
        let degrees = 1.0 / ((1.0 - of_rows).powi(2) / of_launches + of_rows / spread.degrees);
        let effect = least(centre, movement);
        let bound = if effect == 0.0 { 1.0 } else { student::beyond(effect / error, (degrees as usize).max(1)) };
        let low = (centre.min(centre - movement) - wider(self.low)).exp();
        let high = (centre.max(centre - movement) + wider(self.high)).exp();
        (Ratio { low, high, p: self.p.max(bound), ..self }, bound)
    }
}

/// Returns the logarithm of a ratio with or without the movement of all rows, whichever is closer to 0; 0 if one is above and
/// the other below.
pub(super) fn least(logarithm: f64, movement: f64) -> f64 {
    let without = logarithm - movement;
    match logarithm * without > 0.0 {
        true if without.abs() < logarithm.abs() => without,
        true => logarithm,
        false => 0.0,
    }
}

/// Returns the logarithm of a positive number.
fn logarithm(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| value.ln())
}

#[cfg(test)]
mod tests;
