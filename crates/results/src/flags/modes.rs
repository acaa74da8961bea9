//! Two typical values instead of one: for example a pipe whose reader waits in some batches and lags in others
//! (MEASURING, traps).
//!
//! The batches are judged launch by launch: launches differ from each other anyway, so pooled batches would show
//! "modes" in plain noise.

use super::Flag;
use crate::estimate::{median, median_of_sorted, sorted_finite};

/// The minimum ratio of the modes; smaller ratios are usual on this kind of machine (MEASURING, traps).
pub const MODES_RATIO_MIN: f64 = 1.2;

/// The minimum share of the values in each mode; rarer values do not reach the quartiles and are outliers.
const MODE_SHARE_MIN: f64 = 0.2;

/// With fewer batches or launches, modes cannot be recognised.
const VALUES_MIN: usize = 12;

/// The minimum of Ashman's D, the distance of the modes in units of their spread, for many values. The two halves of a
/// normal distribution have 2.7, those of a uniform one 3.5.
const SEPARATION_MIN: f64 = 5.0;

/// Few values form two groups by chance: with n values the distance must be larger by this over n. Found by simulation,
/// so that less than one in 100 series of uniform noise, the worst case, passes at any n.
const SEPARATION_FEW: f64 = 40.0;

/// Two modes of one series, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Median of the lower mode.
    pub lower: f64,
    /// Median of the upper mode.
    pub upper: f64,
}

/// Returns the modes of a series, if it has two: the best split into two groups of logarithms (Otsu's criterion), if
/// the groups are large enough, far enough apart and narrow enough. `None` if a value is not positive.
pub fn modes_of(values: &[f64]) -> Option<Modes> {
    let sorted = sorted_finite(values);
    if sorted.len() < VALUES_MIN || sorted[0] <= 0.0 {
        return None;
    }
    let logs: Vec<f64> = sorted.iter().map(|value| value.ln()).collect();
    let at = best_split(&logs);
    let (lower, upper) = (median_of_sorted(&sorted[..at])?, median_of_sorted(&sorted[at..])?);
    let (left, right) = (Moments::of(&logs[..at]), Moments::of(&logs[at..]));
    let spread = ((left.variance + right.variance) / 2.0).sqrt();
    let separated = right.mean - left.mean >= (SEPARATION_MIN + SEPARATION_FEW / sorted.len() as f64) * spread;
    (separated && upper / lower >= MODES_RATIO_MIN && (upper / lower).is_finite()).then_some(Modes { lower, upper })
}

/// Set for two modes within the launches (`within`, one entry per launch), or among the launches' own values
/// (`launches`).
///
/// Within: at least a quarter of the launches, and at least two if there are two, must show both modes, because one
/// disturbed launch does not characterise the row.
pub fn two_modes(within: &[Option<Modes>], launches: &[f64]) -> Option<Flag> {
    let both: Vec<Modes> = within.iter().copied().flatten().collect();
    let needed = within.len().div_ceil(4).max(2).min(within.len());
    let modes = if needed > 0 && both.len() >= needed {
        let middle = |of: fn(&Modes) -> f64| median(&both.iter().map(of).collect::<Vec<_>>());
        Modes { lower: middle(|modes| modes.lower)?, upper: middle(|modes| modes.upper)? }
    } else {
        modes_of(launches)?
    };
    Some(Flag::TwoModes { ratio: modes.upper / modes.lower, lower: modes.lower, upper: modes.upper })
}

/// Returns where to split ascending values so that the variance between the two groups is largest.
fn best_split(sorted: &[f64]) -> usize {
    let n = sorted.len();
    let smallest = (n as f64 * MODE_SHARE_MIN).ceil() as usize;
    let centre = sorted[n / 2];
    let total: f64 = sorted.iter().map(|value| value - centre).sum();
    let mut left_sum: f64 = sorted[..smallest - 1].iter().map(|value| value - centre).sum();
    let mut best = (f64::NEG_INFINITY, smallest);
    for at in smallest..=n - smallest {
        left_sum += sorted[at - 1] - centre;
        let (left, right) = (at as f64, (n - at) as f64);
        let between = left * right * (left_sum / left - (total - left_sum) / right).powi(2);
        if between > best.0 {
            best = (between, at);
        }
    }
    best.1
}

struct Moments {
    mean: f64,
    variance: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Moments {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        Moments { mean, variance }
    }
}

#[cfg(test)]
mod tests;
