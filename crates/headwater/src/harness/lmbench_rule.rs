//! `lmbench_value`: the figure that the rule of lmbench makes of a launch, beside ours, so that old results can be
//! compared. Called by the course of the operations and by pattern `rtt`; rows that want it have its metric.
//!
//! The rule repeats a measurement 11 times in one process and prints the median; of memory it prints the best, for
//! whatever disturbs a loop over memory only makes it longer. Here the repetitions are the first 11 batches of a launch.

use headwater_results::estimate::median;
use headwater_results::schema::{Better, Metric, Row};

use super::conduct::Measured;

/// The metric.
pub use headwater_results::schema::LMBENCH_VALUE as NAME;

/// Repetitions of the rule.
const REPETITIONS: usize = 11;

/// What becomes of the repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LmbenchRule {
    /// Their median.
    Median,
    /// The best of them.
    Best,
}

impl LmbenchRule {
    /// The value that the rule makes of the batches of a launch, in their order; `None` without any.
    pub fn of(self, batches: &[f64], better: Better) -> Option<f64> {
        let repetitions = &batches[..batches.len().min(REPETITIONS)];
        match (self, better) {
            (LmbenchRule::Median, _) => median(repetitions),
            (LmbenchRule::Best, Better::Lower) => repetitions.iter().copied().reduce(f64::min),
            (LmbenchRule::Best, Better::Higher) => repetitions.iter().copied().reduce(f64::max),
        }
    }
}

/// The row with the value beside its own figure, in the same unit.
#[must_use]
pub fn with_value(mut row: Row) -> Row {
    if let Some(own) = row.metrics.first() {
        let value = Metric { name: NAME.to_owned(), ..own.clone() };
        row.metrics.push(value);
    }
    row
}

/// Adds the value to what a launch measured, where the row wants it: by `rule`, of the batches of the row's own figure.
pub fn add(measured: &mut Measured, row: &Row, rule: LmbenchRule) {
    let own = row.metrics.first();
    let batches = own.and_then(|own| Some((own, measured.series.get(&own.name)?)));
    add_value(measured, row, batches.and_then(|(own, batches)| rule.of(batches, own.better)));
}

/// Adds `value` to what a launch measured, where the row wants it.
pub fn add_value(measured: &mut Measured, row: &Row, value: Option<f64>) {
    let is_wanted = row.metrics.iter().any(|metric| metric.name == NAME);
    if let Some(value) = value.filter(|_| is_wanted) {
        measured.series.insert(NAME.to_owned(), vec![value]);
    }
}

#[cfg(test)]
mod tests;
