//! The verdict in words: a table of kinds of sentences, one file each. Called by the page, and by the command.
//!
//! Sentences are made from estimates alone. None claims a difference that [`crate::judge`] does not see.

use headwater_results::schema::{RowResult, Run};

use crate::rows;
use crate::style::plain;

mod absent;
mod caution;
mod distance;
mod harness;
mod loss;
mod one_way;
mod operations;
mod range;
mod round_trip;
mod sync;
mod uses;
mod wake;

/// What there is to say of one kind; empty if the run does not show it.
type Kind = fn(&Run) -> Vec<String>;

/// In the order in which they are said.
static TABLE: &[Kind] = &[
    caution::sentences,
    one_way::sentences,
    distance::sentences,
    wake::sentences,
    round_trip::sentences,
    loss::sentences,
    sync::sentences,
    uses::sentences,
    operations::sentences,
    harness::sentences,
    absent::sentences,
];

/// The verdict, one sentence or two per entry. A run without figures says so; of a pattern
/// that no kind knows there is nothing to say.
pub fn verdict(run: &Run) -> Vec<String> {
    let mut sentences = Vec::new();
    if rows::all_measured(run).next().is_none() {
        sentences.push("Nothing was measured.".to_owned());
    }
    sentences.extend(TABLE.iter().flat_map(|kind| kind(run)));
    sentences.iter().map(|sentence| plain(sentence)).collect()
}

/// The rows of a pattern at the placement of which the verdict speaks: two CPUs where they were measured, else the
/// first.
fn main_rows<'a>(run: &'a Run, pattern: &str) -> Vec<&'a RowResult> {
    use headwater_results::schema::Placement;
    let rows = rows::measured(run, pattern);
    let placements = rows::placements(run, &rows);
    let main = placements.iter().find(|&&placement| placement == Placement::TwoCpus).or(placements.first());
    main.map(|&main| rows::at(&rows, main)).unwrap_or_default()
}

/// The rows of one size.
fn of_size<'a>(rows: &[&'a RowResult], size: u64) -> Vec<&'a RowResult> {
    rows.iter().copied().filter(|row| row.row.size_bytes == Some(size)).collect()
}

/// The median of the row's own figure.
fn median(result: &RowResult) -> f64 {
    rows::own(result).map_or(0.0, |own| own.estimate.median)
}

/// Whether the row's own figure rests on one launch.
fn is_single(result: &RowResult) -> bool {
    rows::own(result).is_some_and(|own| own.estimate.n < 2)
}

/// Whether two rows' own figures show a difference.
fn differ(one: &RowResult, other: &RowResult) -> bool {
    let estimates = rows::own(one).zip(rows::own(other));
    estimates.is_some_and(|(one, other)| crate::judge::differ(&one.estimate, &other.estimate))
}

#[cfg(test)]
mod tests;
