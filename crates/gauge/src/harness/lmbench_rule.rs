//! `lmbench_value`: the figure that LMbench's rule makes of a launch, as a second metric, so that old results can be
//! compared. Called by the operations and by pattern `rtt`, for rows that have the metric.
//!
//! LMbench repeats a measurement 11 times in one process and prints the median; for memory it prints the best, because
//! a disturbance can only make a loop over memory longer. Here the repetitions are the first 11 batches of a launch.

use headwater_results::estimate::median;
use headwater_results::schema::{Better, Metric, Row};

use super::conduct::Measured;

/// The name of the metric.
pub use headwater_results::schema::LMBENCH_VALUE as NAME;

/// Repetitions of LMbench's rule.
const REPETITIONS: usize = 11;

/// How the repetitions become one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LmbenchRule {
    /// Their median.
    Median,
    /// The best of them.
    Best,
}

impl LmbenchRule {
    /// Returns the value of the batches of a launch, which are in their order; `None` if there are no batches.
    pub fn of(self, batches: &[f64], better: Better) -> Option<f64> {
        let repetitions = &batches[..batches.len().min(REPETITIONS)];
        match (self, better) {
            (LmbenchRule::Median, _) => median(repetitions),
            (LmbenchRule::Best, Better::Lower) => repetitions.iter().copied().reduce(f64::min),
            (LmbenchRule::Best, Better::Higher) => repetitions.iter().copied().reduce(f64::max),
        }
    }
}

/// Returns the row with the additional metric, in the unit of its own figure.
#[must_use]
pub fn with_value(mut row: Row) -> Row {
    if let Some(own) = row.metrics.first() {
        let value = Metric { name: NAME.to_owned(), ..own.clone() };
        row.metrics.push(value);
    }
    row
}

/// Adds the value to the result of a launch if the row has the metric: by `rule`, from the batches of the row's own
/// figure.
pub fn add(measured: &mut Measured, row: &Row, rule: LmbenchRule) {
    let own = row.metrics.first();
    let batches = own.and_then(|own| Some((own, measured.series.get(&own.name)?)));
    add_value(measured, row, batches.and_then(|(own, batches)| rule.of(batches, own.better)));
}

/// Adds `value` to the result of a launch if the row has the metric.
pub fn add_value(measured: &mut Measured, row: &Row, value: Option<f64>) {
    let is_wanted = row.metrics.iter().any(|metric| metric.name == NAME);
    if let Some(value) = value.filter(|_| is_wanted) {
        measured.series.insert(NAME.to_owned(), vec![value]);
    }
}

#[cfg(test)]
mod tests;
