//! The verdict in words: a table of kinds of sentences, one file each. Called by both pages and by the command.
//!
//! Sentences use only estimates. None claims a difference or an equality that [`crate::judge`] does not find.

use headwater_results::overhead::is_overhead;
use headwater_results::schema::{RowResult, Run};

use crate::rows;
use crate::style::plain;

mod absent;
mod answer;
mod beyond;
mod caution;
mod choice;
mod conditions;
mod flood;
mod harness;
mod limit;
mod loss;
mod mechanisms;
mod operations;
mod range;
mod relation;
mod sync;
mod tracing;
mod uses;

pub(crate) use answer::answers;

/// A kind of sentence; it yields nothing if the run has no rows for it.
type Kind = fn(&Run) -> Vec<String>;

/// The kinds, in the order of the output: what the answers hold for, then the mechanism to use, then what a runtime gives beyond
/// it, and the limits.
static TABLE: &[Kind] = &[
    caution::few_launches,
    caution::busy,
    choice::sentences,
    beyond::sentences,
    conditions::sentences,
    flood::sentences,
    mechanisms::sentences,
    limit::sentences,
    harness::sentences,
    loss::sentences,
    sync::sentences,
    uses::sentences,
    operations::sentences,
    absent::sentences,
];

/// The kinds for a run of `headwater overhead`, whose rows are configurations and no mechanisms to choose from.
static OF_OVERHEAD: &[Kind] =
    &[caution::few_launches, tracing::sentences, caution::disturbed, conditions::sentences, absent::sentences];

/// Returns the verdict, at most two sentences per kind. A run without figures gets a sentence that says so; patterns
/// without a kind are ignored.
pub fn verdict(run: &Run) -> Vec<String> {
    let mut sentences = Vec::new();
    if rows::all_measured(run).next().is_none() {
        sentences.push("Nothing was measured.".to_owned());
    }
    let kinds = if is_overhead(run) { OF_OVERHEAD } else { TABLE };
    sentences.extend(kinds.iter().flat_map(|kind| kind(run)));
    sentences.iter().map(|sentence| plain(sentence)).collect()
}

/// Returns the rows of a pattern at the placement that the verdict uses: two CPUs if they were measured, else the
/// first.
fn main_rows<'a>(run: &'a Run, pattern: &str) -> Vec<&'a RowResult> {
    use headwater_results::schema::Placement;
    let rows = rows::measured(run, pattern);
    let placements = rows::placements(run, &rows);
    let main = placements.iter().find(|&&placement| placement == Placement::TwoCpus).or(placements.first());
    main.map(|&main| rows::at(&rows, main)).unwrap_or_default()
}

/// Returns the rows of one size.
fn of_size<'a>(rows: &[&'a RowResult], size: u64) -> Vec<&'a RowResult> {
    rows.iter().copied().filter(|row| row.row.size_bytes == Some(size)).collect()
}

/// Returns the median of the row's own figure.
fn median(result: &RowResult) -> f64 {
    rows::own(result).map_or(0.0, |own| own.estimate.median)
}

/// Whether the row's own figure is from a single launch.
fn is_single(result: &RowResult) -> bool {
    rows::own(result).is_some_and(|own| own.estimate.n < 2)
}

#[cfg(test)]
mod tests;
