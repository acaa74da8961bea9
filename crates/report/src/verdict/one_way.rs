//! The candidates that stream fastest, by ranges of sizes; a sentence per placement.

use headwater_results::schema::{RowResult, Run};

use super::median;
use super::range::{Range, ranges};
use crate::{rows, units};

/// From this size on, a rate is given in bytes.
const BYTES_FROM: u64 = 4096;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let rows = rows::measured(run, "stream");
    let placements = rows::placements(run, &rows);
    let of = |&placement| {
        let rows: Vec<&RowResult> = rows::at(&rows, placement).into_iter().filter(|row| rows::competes(row)).collect();
        sentence(&rows).map(|words| format!("One way ({}): {words}.", rows::placement_words(placement)))
    };
    placements.iter().filter_map(of).collect()
}

fn sentence(rows: &[&RowResult]) -> Option<String> {
    if let [(only, _)] = rows::subjects(rows)[..] {
        let ends = rows::unique([rows.first()?.row.id.as_str(), rows.last()?.row.id.as_str()]);
        let ends = rows.iter().filter(|row| ends.contains(&row.row.id.as_str()));
        let figures: Vec<String> = ends.map(|row| format!("{} at {}", figure(row), size(row))).collect();
        return Some(format!("{only} moves {}", figures.join(" and ")));
    }
    let ranges = ranges(rows);
    let last = ranges.len().checked_sub(1)?;
    let words = ranges
        .iter()
        .enumerate()
        .map(|(index, range)| format!("{} ({})", range.words(index == 0, index == last), figure_of(range)));
    Some(words.collect::<Vec<_>>().join("; "))
}

/// Returns the figure of a range: messages at its first size, bytes at its last.
fn figure_of(range: &Range<'_>) -> String {
    let row = if says_bytes(range.first_best()) { range.last_best() } else { range.first_best() };
    if range.is_point() { figure(row) } else { format!("{} at {}", figure(row), size(row)) }
}

fn figure(result: &RowResult) -> String {
    if says_bytes(result) {
        units::bytes_per_second(median(result) * result.row.size_bytes.unwrap_or(0) as f64)
    } else {
        format!("{} messages/s", units::prefixed(median(result)))
    }
}

fn says_bytes(result: &RowResult) -> bool {
    result.row.size_bytes.is_some_and(|size| size >= BYTES_FROM)
}

fn size(result: &RowResult) -> String {
    units::size_in_words(result.row.size_bytes.unwrap_or(0))
}
