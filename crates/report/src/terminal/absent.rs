//! Rows without a figure, and failed launches, with the reason.

use std::fmt::Write as _;

use headwater_results::schema::{RowOutcome, RowResult, Run};

use super::Section;
use super::page::Page;
use crate::style::strong;
use crate::text::{plural, short_list, wrap};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[], draw };

/// The most row ids that are named of a group; `headwater list` names all.
const NAMED: usize = 3;

/// A kind of absence: its word, and a function that returns the reason if it applies to a row.
type Kind = (&'static str, fn(&RowResult) -> Option<&str>);

const KINDS: [Kind; 4] = [
    ("failed", |result| match &result.outcome {
        RowOutcome::Failed { reason } => Some(reason),
        _ => None,
    }),
    ("failed launches", |result| match &result.outcome {
        RowOutcome::Measured => result.failures.first().map(String::as_str),
        _ => None,
    }),
    ("skipped", |result| match &result.outcome {
        RowOutcome::Skipped { reason } => Some(reason),
        _ => None,
    }),
    ("no turn", |result| match &result.outcome {
        RowOutcome::Pending => Some("the run ended before"),
        _ => None,
    }),
];

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let mut text = String::new();
    for (word, reason_of) in KINDS {
        for (reason, ids) in groups(run, reason_of) {
            let rows = plural(ids.len(), "row");
            let line = format!("{}, {rows}: {reason}. {}", strong(word), short_list(&ids, NAMED));
            // Writing to a String cannot fail.
            let _ = write!(text, "\n{}", wrap(&line, style.columns(), 2));
        }
    }
    (!text.is_empty()).then(|| format!("{}{text}", strong("Not measured")))
}

/// Groups the ids of rows by reason, in the order of their first row.
fn groups(run: &Run, reason_of: fn(&RowResult) -> Option<&str>) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for result in &run.results {
        let Some(reason) = reason_of(result) else { continue };
        let reason = reason.trim_end_matches('.');
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, ids)) => ids.push(&result.row.id),
            None => groups.push((reason, vec![&result.row.id])),
        }
    }
    groups
}
