//! What all rows of two successive runs have in common. Called by comparisons of runs of one machine.
//!
//! Runs differ by more than their launches explain: the whole machine is faster or slower than an hour before, and each
//! row is so a little differently. Launches of one run cannot show either. The rows can: few changes of a program move all
//! of them alike. So their median ratio is taken for the machine's movement, and their deviations from it for what a row
//! differs by from one run to the next.

use serde::{Deserialize, Serialize};

use super::noise::deviation;
use super::ratio::{Spread, standard_errors};
use super::{Ratio, RowComparison, Verdict};
use crate::estimate::median;
use crate::schema::Better;
use crate::significance::student;

/// With fewer rows, what they have in common cannot be told from what each of them shows.
pub const ROWS_MIN: usize = 12;

/// The middle one of the rows' deviations shows their spread as well as the squares of this share of them.
const EFFICIENCY: f64 = 0.37;

/// The movement of all rows between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Movement {
    /// The number of rows.
    pub rows: u32,
    /// The median of their ratios, as one of speed: below 1 the candidate is slower.
    pub ratio: f64,
    /// The standard error of its logarithm.
    pub error: f64,
    /// How much rows deviate from it beyond what their launches explain: a standard deviation of logarithms.
    pub deviation: f64,
}

impl Movement {
    /// Returns the movement of the rows that were measured in runs of their own; `None` of fewer than [`ROWS_MIN`].
    pub(super) fn of(rows: &[RowComparison]) -> Option<Movement> {
        let (ratios, logarithms): (Vec<Ratio>, Vec<f64>) = rows
            .iter()
            .filter(|row| row.verdict != Verdict::Unjudged)
            .filter_map(|row| Some((row.ratio.filter(|ratio| !ratio.paired && ratio.n > 1)?, row.metric.better)))
            .map(|(ratio, better)| (ratio, towards_better(better, ratio.value.ln())))
            .unzip();
        let middle = median(&logarithms).filter(|_| ratios.len() >= ROWS_MIN)?;
        let deviations = || logarithms.iter().map(|logarithm| logarithm - middle);
        // Fewer than half of the rows may have changed, however much, without widening the intervals of the others by much.
        let outside = (ratios.len() - 1) / 2;
        let spread = deviation(deviations().map(|deviation| (deviation, 0.0)), outside)?;
        // A median of normal values has this many standard errors of their mean.
        let error = std::f64::consts::FRAC_PI_2.sqrt() * spread / (ratios.len() as f64).sqrt();
        let errors = standard_errors(&ratios).into_iter().map(|error| error.unwrap_or(0.0));
        let beyond = deviation(deviations().zip(errors), outside)?;
        let rows = u32::try_from(ratios.len()).unwrap_or(u32::MAX);
        Some(Movement { rows, ratio: middle.exp(), error, deviation: beyond.hypot(error) })
    }

    /// Returns the logarithm by which the figure of a row moved with the others.
    pub(super) fn of_figure(self, better: Better) -> f64 {
        towards_better(better, self.ratio.ln())
    }

    /// Returns the deviation, with its degrees of freedom.
    pub(super) fn spread(&self, alpha: f64) -> Spread {
        let degrees = EFFICIENCY * (f64::from(self.rows) - 1.0);
        Spread { deviation: self.deviation, degrees, deviate: student::quantile(alpha, degrees as usize) }
    }

    /// Returns whether the rows moved together by more than chance.
    pub fn is_certain(&self) -> bool {
        self.ratio.ln().abs() > 3.0 * self.error
    }
}

/// Returns the logarithm of a figure, or of a ratio, with the sign by which larger ones are better: a slower machine has lower
/// rates and longer times.
pub(crate) fn towards_better(better: Better, logarithm: f64) -> f64 {
    if better == Better::Higher { logarithm } else { -logarithm }
}

#[cfg(test)]
mod tests;
