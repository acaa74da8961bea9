//! Rows that did not run.

use headwater_results::schema::{RowOutcome, Run};

use crate::text::{list, plural};

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let mut counts = [(0_usize, "skipped"), (0, "failed"), (0, "without a turn")];
    for result in &run.results {
        match result.outcome {
            RowOutcome::Measured => {}
            RowOutcome::Skipped { .. } => counts[0].0 += 1,
            RowOutcome::Failed { .. } => counts[1].0 += 1,
            RowOutcome::Pending => counts[2].0 += 1,
        }
    }
    let words: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let missing: usize = counts.iter().map(|(count, _)| count).sum();
    let total = plural(run.results.len(), "row");
    let verb = if missing == 1 { "has" } else { "have" };
    vec![format!("{missing} of {total} {verb} no figure ({}); the list of rows gives the reasons.", list(&words))]
}
