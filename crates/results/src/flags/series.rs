//! Flags for a row's launches in the order of their blocks: their number, spread, order and level.
//!
//! The interval assumes that launches are independent draws from one distribution; these tests look for violations. All
//! but the first two return nothing if the whole range is below the minimum effect of verdicts.

use super::Flag;
use crate::compare::MINIMUM_EFFECT;
use crate::estimate::{Estimate, median, median_of_sorted, sorted_finite};
use crate::significance::student;

/// With this many launches the exact interval reaches 95 % (1 - 2 * 0.5^6 = 96.9 %; with five it is 93.8 %).
pub const LAUNCHES_MIN: u32 = 6;

/// Half width of an interval from which two rows that differ by a factor of 1.2 can no longer be distinguished: their
/// intervals would touch.
pub const HALF_WIDTH_MAX: f64 = 0.10;

/// Standard deviations beyond which an order is not random. 3.0 is one row in 740, one-sided: a table of a hundred rows
/// of white noise seldom has one.
const Z_MIN: f64 = 3.0;

/// The probability, over all positions together, that white noise shows a level change. As rare as [`Z_MIN`].
const CHANGE_P_MAX: f64 = 0.002;

/// A level has at least this many launches; two in a row happen by chance.
const LEVEL_LAUNCHES_MIN: usize = 3;

/// The most launches in the tests with quadratic time; longer series are thinned evenly, which preserves a trend.
const PAIRS_LAUNCHES_MAX: usize = 1000;

/// Set if fewer than [`LAUNCHES_MIN`] launches have a value.
pub fn few_launches(n: u32) -> Option<Flag> {
    (n < LAUNCHES_MIN).then_some(Flag::FewLaunches { n })
}

/// Set if the interval is wider than [`HALF_WIDTH_MAX`] on either side.
pub fn wide_interval(estimate: &Estimate) -> Option<Flag> {
    let share = estimate.relative_half_width()?;
    let per_cent = share * 100.0;
    (share > HALF_WIDTH_MAX && per_cent.is_finite()).then_some(Flag::WideInterval { per_cent })
}

/// Set if successive launches are similar: Bartels' rank version of von Neumann's ratio (JASA 77, 1982), which is
/// robust against outliers. Needs nine launches; with fewer, even perfect order is not rare enough.
pub fn autocorrelated(launches: &[f64]) -> Option<Flag> {
    let (z, lag1) = serial(&scaled(launches)?)?;
    (z > Z_MIN).then_some(Flag::Autocorrelated { lag1 })
}

/// Returns Bartels' statistic in standard deviations, which is positive if successive values are similar, and the
/// autocorrelation at lag 1. `None` of fewer than three values, and of equal ones.
pub(crate) fn serial(series: &[f64]) -> Option<(f64, f64)> {
    let n = series.len() as f64;
    let ranks = ranks(series);
    let mean = (n + 1.0) / 2.0;
    let spread: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    let steps: f64 = ranks.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let variance = 4.0 * (n - 2.0) * (5.0 * n * n - 2.0 * n - 9.0) / (5.0 * n * (n + 1.0) * (n - 1.0).powi(2));
    let z = (2.0 - steps / spread) / variance.sqrt();
    (series.len() > 2 && spread > 0.0).then(|| (z, lag1(series)))
}

/// Set if the launches drift: Kendall's test of the order against time, and the Theil-Sen line for the size. Both are
/// robust against outliers. Needs seven launches.
pub fn sloped(launches: &[f64]) -> Option<Flag> {
    let series = thinned(scaled(launches)?);
    let n = series.len() as f64;
    let mut concordance = 0.0;
    let mut slopes = Vec::with_capacity(series.len() * (series.len() - 1) / 2);
    for (i, early) in series.iter().enumerate() {
        for (j, late) in series.iter().enumerate().skip(i + 1) {
            let rise = late - early;
            concordance += if rise == 0.0 { 0.0 } else { rise.signum() };
            slopes.push(rise / (j - i) as f64);
        }
    }
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    // The continuity correction: the sum moves in steps of two.
    let z = (concordance.abs() - 1.0) / deviation;
    let change = median(&slopes)? * (n - 1.0);
    (z > Z_MIN && change.abs() >= MINIMUM_EFFECT).then_some(Flag::Sloped { per_cent: change * 100.0 })
}

/// Set if the launches change to another level and stay there: the largest Student's t over all positions, adjusted for
/// their number (Bonferroni). A single outlier increases the spread of its own side and therefore is not taken for a
/// level.
pub fn change_point(launches: &[f64]) -> Option<Flag> {
    let series = scaled(launches)?;
    let n = series.len();
    let places = (n + 1).checked_sub(2 * LEVEL_LAUNCHES_MIN).filter(|&places| places > 0)?;
    let (sum, squares) = sums(&series);
    let (mut left_sum, mut left_squares) = sums(&series[..LEVEL_LAUNCHES_MIN - 1]);
    let mut best = (0.0, 0);
    for at in LEVEL_LAUNCHES_MIN..LEVEL_LAUNCHES_MIN + places {
        left_sum += series[at - 1];
        left_squares += series[at - 1].powi(2);
        let (left, right) = (at as f64, (n - at) as f64);
        let within =
            (left_squares - left_sum.powi(2) / left) + ((squares - left_squares) - (sum - left_sum).powi(2) / right);
        // Rounding may make a difference negative if both sides are constant.
        let variance = within.max(f64::EPSILON * squares) / (n - 2) as f64;
        let t = (left_sum / left - (sum - left_sum) / right).abs() / (variance * (1.0 / left + 1.0 / right)).sqrt();
        if t > best.0 {
            best = (t, at);
        }
    }
    let (t, at) = best;
    if student::beyond(t, n - 2) * places as f64 > CHANGE_P_MAX {
        return None;
    }
    // The series is scaled to a median of 0, in shares of the median.
    let ratio = (1.0 + median(&series[at..])?) / (1.0 + median(&series[..at])?);
    let matters = ratio.is_finite() && ratio > 0.0 && ratio.ln().abs() >= MINIMUM_EFFECT;
    matters.then_some(Flag::ChangePoint { at_launch: u32::try_from(at).unwrap_or(u32::MAX), ratio })
}

/// Returns the finite launches as shares of their median, minus one. `None` if no test is valid: a median of zero,
/// fewer than three values, or a range below [`MINIMUM_EFFECT`], including constants.
fn scaled(launches: &[f64]) -> Option<Vec<f64>> {
    let sorted = sorted_finite(launches);
    let middle = median_of_sorted(&sorted)?;
    let share = |value: f64| (value - middle) / middle.abs();
    let range = share(*sorted.last()?) - share(*sorted.first()?);
    if sorted.len() < 3 || !range.is_finite() || range < MINIMUM_EFFECT {
        return None;
    }
    Some(launches.iter().copied().filter(|value| value.is_finite()).map(share).collect())
}

fn thinned(series: Vec<f64>) -> Vec<f64> {
    let step = series.len().div_ceil(PAIRS_LAUNCHES_MAX).max(1);
    series.into_iter().step_by(step).collect()
}

fn sums(values: &[f64]) -> (f64, f64) {
    values.iter().fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value))
}

/// Returns ranks from 1; equal values have their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = first as f64 + (group.len() as f64 + 1.0) / 2.0;
        for &place in group {
            ranks[place] = rank;
        }
        first += group.len();
    }
    ranks
}

/// Returns the correlation of each value with the previous one.
fn lag1(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let spread: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / spread
}

#[cfg(test)]
mod tests;
