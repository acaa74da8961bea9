//! The times of the best-known basic operations.

use headwater_results::schema::{RowResult, Run};

use super::median;
use crate::{rows, units};

/// Representative operations, with their words.
const NAMED: [(&str, &str); 5] = [
    ("null-call", "a null call"),
    ("signal-handle", "handling a signal"),
    ("page-fault", "a page fault"),
    ("ctxsw-2p-0k", "a switch between two processes"),
    ("fork", "fork and exit"),
];

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let rows = rows::measured(run, "lmbench");
    let sentence = |placement| {
        let rows = rows::at(&rows, placement);
        let of = |(subject, words): (&str, &str)| {
            let row = rows.iter().find(|row| row.row.subject == subject)?;
            Some(format!("{words} {}", time(row)?))
        };
        let parts: Vec<String> = NAMED.into_iter().filter_map(of).collect();
        let place = rows::placement_words(placement);
        (!parts.is_empty()).then(|| format!("Basic operations ({place}): {}.", parts.join(", ")))
    };
    rows::placements(run, &rows).into_iter().filter_map(sentence).collect()
}

fn time(row: &RowResult) -> Option<String> {
    Some(units::quantity(median(row), &rows::own(row)?.metric.unit))
}
