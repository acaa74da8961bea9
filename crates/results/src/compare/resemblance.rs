//! Launches that resemble those before them. Called by comparisons of launches.
//!
//! Launches are the replicates of a comparison, and independent ones are assumed. Where a part of a launch's deviation is left in
//! the next one (AR(1)), there are fewer independent ones than counted. One row has too few launches to show it, and many rows
//! have enough.

use serde::{Deserialize, Serialize};

use super::ratio::Sample;
use crate::estimate::median;
use crate::flags::series;

/// The resemblance of successive launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Resemblance {
    /// The part of a launch's deviation that is left in the next one, 0..1: the median of the rows.
    pub autocorrelation: f64,
    /// How much wider intervals are for it.
    pub factor: f64,
    /// The share of the launches that counts for the error of their spread.
    pub share: f64,
}

impl Resemblance {
    /// Returns the resemblance of the launches, or of their ratios within blocks; `None` if it is not more than chance explains.
    pub(super) fn of(samples: &[Option<Sample>]) -> Option<Resemblance> {
        let of_sides = |a: &[f64], b: &[f64]| {
            let [a, b] = [series::serial(a)?, series::serial(b)?];
            Some(((a.0 + b.0) / std::f64::consts::SQRT_2, f64::midpoint(a.1, b.1)))
        };
        let of = |sample: &Sample| match sample {
            Sample::Paired(differences) => Some((series::serial(differences)?, differences.len())),
            Sample::Independent(a, b) => Some((of_sides(a, b)?, a.len().min(b.len()))),
        };
        let found: Vec<((f64, f64), usize)> = samples.iter().flatten().filter_map(of).collect();
        let middle = |of: fn(&((f64, f64), usize)) -> f64| median(&found.iter().map(of).collect::<Vec<f64>>());
        // One row in forty of independent launches has two standard deviations. Half of many rows have hardly ever one, and
        // have 1.6 where six tenths of a launch's deviation are left in the next one of twelve.
        let least = 1.0 + 1.0 / (found.len() as f64).sqrt();
        if middle(|row| row.0.0)? <= least {
            return None;
        }
        Some(Resemblance::with(middle(|row| row.0.1)?, middle(|row| row.1 as f64)?))
    }

    /// Returns the resemblance of `n` launches with this autocorrelation at lag 1 around their own mean.
    fn with(lag1: f64, n: f64) -> Resemblance {
        // Around the mean of few values it is too small (Kendall 1954; Marriott and Pope 1954).
        let left = ((lag1 + 1.0 / n) / (1.0 - 3.0 / n).max(0.25)).clamp(0.0, 0.9);
        // The variance of the mean of n, as a multiple of that of independent values, and of what their spread shows of it.
        let variance = (1.0 + left) / (1.0 - left) - 2.0 * left * (1.0 - left.powf(n)) / (n * (1.0 - left).powi(2));
        let shown = (1.0 - (variance - 1.0) / (n - 1.0)).max(0.1);
        let share = (1.0 - left * left) / (1.0 + left * left);
        Resemblance { autocorrelation: left, factor: (variance / shown).sqrt(), share }
    }
}
