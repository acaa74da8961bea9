//! Exports runs for other tools: one file per format, and the table below. Called by `headwater export`, which writes
//! the text.
//!
//! A format contains only facts of the run: a figure without an interval gets none, and a row without a figure is
//! marked as such where the format permits it. Names in runs may come from any program, so each format escapes them.

mod bench;
mod bmf;
pub(crate) mod csv;
mod json;
mod markdown;
mod openmetrics;

use headwater_results::schema::{MetricResult, RowOutcome, Run};

/// A run with its name.
pub type NamedRun = (String, Run);

/// The options of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// One record per launch instead of one per estimate.
    pub launches: bool,
}

/// An export format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// Whether [`Options::launches`] applies to it.
    pub has_launches: bool,
    /// Returns the text in UTF-8, terminated by a newline.
    pub write: fn(&[NamedRun], &Options) -> String,
}

/// All formats, in the order of the help text.
pub static TABLE: &[Format] =
    &[csv::FORMAT, bench::FORMAT, bmf::FORMAT, openmetrics::FORMAT, markdown::FORMAT, json::FORMAT];

/// Returns the format with that name.
pub fn find(name: &str) -> Option<&'static Format> {
    TABLE.iter().find(|format| format.name == name)
}

impl Format {
    /// Exports the runs. Runs of the same name are numbered, because most formats must distinguish them.
    pub fn export(&self, runs: &[NamedRun], options: &Options) -> String {
        (self.write)(&distinct(runs), options)
    }
}

/// Returns the runs; the second run of a name gets the suffix `#2`, and so on.
fn distinct(runs: &[NamedRun]) -> Vec<NamedRun> {
    let mut named: Vec<NamedRun> = Vec::new();
    for (name, run) in runs {
        let mut candidate = name.clone();
        let mut number = 1;
        while named.iter().any(|(taken, _)| *taken == candidate) {
            number += 1;
            candidate = format!("{name}#{number}");
        }
        named.push((candidate, run.clone()));
    }
    named
}

/// Returns the interval; `None` for a single launch.
fn interval(metric: &MetricResult) -> Option<(f64, f64)> {
    (metric.estimate.n > 1).then_some((metric.estimate.low, metric.estimate.high))
}

/// Returns the outcome of a row: a word, and the reason if there is one.
fn status(outcome: &RowOutcome) -> (&'static str, &str) {
    match outcome {
        RowOutcome::Measured => ("measured", ""),
        RowOutcome::Skipped { reason } => ("skipped", reason),
        RowOutcome::Failed { reason } => ("failed", reason),
        RowOutcome::Pending => ("pending", ""),
    }
}

#[cfg(test)]
mod tests;
