//! The distance of the candidates from the limits, at the smallest and the largest size.

use headwater_results::schema::{RowResult, Run, Standing};

use super::{differ, is_single, main_rows, of_size};
use crate::text::list;
use crate::{judge, rows, units};

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let rows = main_rows(run, "stream");
    let found: Vec<String> =
        rows::sizes(&rows).into_iter().filter_map(|size| words(&of_size(&rows, size), size)).collect();
    let ends = match found.as_slice() {
        [] => return Vec::new(),
        [only] => vec![only.clone()],
        [first, .., last] => vec![first.clone(), last.clone()],
    };
    vec![format!("Against the best of them a bare ring in shared memory (limit) is {}.", list(&ends))]
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
