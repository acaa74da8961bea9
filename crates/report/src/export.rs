//! Exports runs for other tools: one file per format, and the table below. Called by `headwater export`, which writes
//! the text.
//!
//! A format contains nothing that the run does not: a figure without an interval gets none, and a row without a figure
//! is named as such where the format has a place for it. Names in runs may come from any program, so each format
//! escapes them.

mod bench;
mod bmf;
mod csv;
mod json;
mod markdown;
mod openmetrics;

use headwater_results::schema::{MetricResult, RowOutcome, Run};

/// A run with what to call it.
pub type NamedRun = (String, Run);

/// What a user may choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// One record per launch instead of one per estimate.
    pub launches: bool,
}

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Whether [`Options::launches`] means anything to it.
    pub has_launches: bool,
    /// The text, in UTF-8 and with a line end at its end.
    pub write: fn(&[NamedRun], &Options) -> String,
}

/// Every format, in the order of the help.
pub static TABLE: &[Format] =
    &[csv::FORMAT, bench::FORMAT, bmf::FORMAT, openmetrics::FORMAT, markdown::FORMAT, json::FORMAT];

/// The format of that name.
pub fn find(name: &str) -> Option<&'static Format> {
    TABLE.iter().find(|format| format.name == name)
}

impl Format {
    /// The runs in this format. Runs of the same name are numbered, for most formats need to tell them apart.
    pub fn export(&self, runs: &[NamedRun], options: &Options) -> String {
        (self.write)(&distinct(runs), options)
    }
}

/// The runs, the second of a name with `#2` behind it, and so on.
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

/// The interval, if there is one: a single launch has none.
fn interval(metric: &MetricResult) -> Option<(f64, f64)> {
    (metric.estimate.n > 1).then_some((metric.estimate.low, metric.estimate.high))
}

/// What became of a row: a word, and the reason where there is one.
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
