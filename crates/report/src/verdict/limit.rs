//! The distance of the best row from the limit, a bare ring in shared memory: one way and for round trips, at the
//! smallest and the largest size.

use headwater_results::schema::{RowResult, Run, Standing};

use super::{differ, is_single, main_rows, of_size};
use crate::text::list;
use crate::{judge, rows, units};

/// The patterns, with their names in the sentence.
const PATTERNS: [(&str, &str); 2] = [("one way", "stream"), ("round trip", "rtt")];

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let of = |(name, pattern): (&str, &str)| Some(format!("{name} {}", of_pattern(&main_rows(run, pattern))?));
    let parts: Vec<String> = PATTERNS.into_iter().filter_map(of).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    vec![format!("The limit, a bare ring in shared memory, against the best of all rows: {}.", parts.join("; "))]
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

/// Returns `3.4 times as fast at 64 B (ring-spin)`. `None` if this size has no limit or no candidate.
fn words(rows: &[&RowResult], size: u64) -> Option<String> {
    let limits: Vec<&RowResult> = rows.iter().copied().filter(|row| row.row.standing == Standing::Limit).collect();
    let limit = *judge::leaders(&limits).first()?;
    let candidate = *judge::best_candidates(rows).first()?;
    let advantage = judge::advantage(limit, candidate)?;
    let size = units::size_in_words(size);
    let subject = &limit.row.subject;
    Some(match differ(limit, candidate) {
        true if advantage > 1.0 => format!("{} as fast at {size} ({subject})", units::times(advantage)),
        true => format!("slower at {size} ({subject})"),
        false if is_single(limit) || is_single(candidate) => {
            format!("{} as fast in one launch at {size} ({subject})", units::times(advantage))
        }
        false => format!("not measurably faster at {size} ({subject})"),
    })
}
