//! The fastest round trip, and the saving by spinning instead of sleeping.

use headwater_results::schema::{RowResult, Run, Standing};

use super::range::ranges;
use super::{differ, main_rows, median, of_size};
use crate::{judge, rows, units};

pub(super) fn sentences(run: &Run) -> Vec<String> {
    sentence(&main_rows(run, "rtt")).into_iter().collect()
}

fn sentence(rows: &[&RowResult]) -> Option<String> {
    let size = *rows::sizes(rows).first()?;
    let rows = of_size(rows, size);
    let best = *judge::best_candidates(&rows).first()?;
    let cost = units::duration_ns(median(best));
    let range = ranges(&rows).into_iter().next()?;
    let who = match rows.iter().filter(|row| rows::competes(row)).count() {
        1 => format!("at {} {} takes {cost} on average", units::size_in_words(size), best.row.subject),
        _ => format!("{} ({cost} on average)", range.words(true, true)),
    };
    let start = format!("Round trip (rtt): {who}");
    Some(match saving(&rows, best) {
        Some(words) => format!("{start}; {words}."),
        None => format!("{start}."),
    })
}

/// Returns the saving of the fastest limit, which spins.
fn saving(rows: &[&RowResult], best: &RowResult) -> Option<String> {
    let spinning: Vec<&RowResult> = rows
        .iter()
        .copied()
        .filter(|row| row.row.standing == Standing::Limit && row.row.subject.contains("spin"))
        .collect();
    let limit = *judge::leaders(&spinning).first()?;
    let saved_ns = median(best) - median(limit);
    (saved_ns > 0.0 && differ(best, limit)).then(|| {
        let (saved, left) = (units::duration_ns(saved_ns), units::duration_ns(median(limit)));
        format!("spinning in shared memory would save {saved} of it ({}, limit: {left})", limit.row.subject)
    })
}
