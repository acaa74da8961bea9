//! The distance of the best row from the limit, a bare ring in shared memory: one way and for round trips, at the
//! smallest and the largest size.

use headwater_results::schema::{RowResult, Run, Standing};

use super::relation::beside;
use super::{main_rows, of_size};
use crate::text::list;
use crate::{judge, rows, units};

/// The patterns, with their names in the sentence.
const PATTERNS: [(&str, &str); 2] = [("a stream of messages", "stream"), ("request and answer", "rtt")];

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let of = |(name, pattern): (&str, &str)| Some(format!("{name} is {}", of_pattern(&main_rows(run, pattern))?));
    let parts: Vec<String> = PATTERNS.into_iter().filter_map(of).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    vec![format!("The fastest mechanism beside the limit, a bare ring in shared memory: {}.", parts.join("; "))]
}

/// Returns the words for the smallest and the largest size.
fn of_pattern(rows: &[&RowResult]) -> Option<String> {
    let found: Vec<String> =
        rows::sizes(rows).into_iter().filter_map(|size| words(&of_size(rows, size), size)).collect();
    match found.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        [first, .., last] => Some(list(&[first, last])),
    }
}

/// Returns `at 64 B 1.2 times slower over streams-pipe than over ring-spin`. `None` if this size has no limit or no
/// candidate.
fn words(rows: &[&RowResult], size: u64) -> Option<String> {
    let of = |is: fn(&RowResult) -> bool| -> Option<&RowResult> {
        judge::best(&rows.iter().copied().filter(|row| is(row)).collect::<Vec<_>>())
    };
    let limit = of(|row| row.row.standing == Standing::Limit)?;
    let candidate = of(rows::competes)?;
    let words = beside(&judge::relation(candidate, limit)?, &candidate.row.subject, &limit.row.subject);
    Some(format!("at {} {words}", units::size_in_words(size)))
}
