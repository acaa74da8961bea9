//! The mechanism to use here: of the kernel's own, and of external programs beside them, the best by ranges of sizes,
//! one way and for round trips, with its ratio to the pipe. A sentence per pattern and placement.

use headwater_results::schema::{Better, RowResult, Run};

use super::median;
use super::range::{Range, ranges};
use crate::rows::{self, Provider};
use crate::{judge, units};

/// The patterns, each with its name in a sentence. The later ones of a group are used if the run has not the first.
const PATTERNS: [(&str, &[&str]); 2] = [("One way", &["stream", "stream-full", "single"]), ("Round trip", &["rtt"])];

/// The transport with which the best one is compared.
const REFERENCE: &str = "pipe";

/// From this size on, a rate is given in bytes.
const BYTES_FROM: u64 = 4096;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    PATTERNS.iter().flat_map(|&(title, patterns)| of_pattern(run, title, measured_first(run, patterns))).collect()
}

/// Returns the rows of the first of the patterns that was measured.
pub(super) fn measured_first<'a>(run: &'a Run, patterns: &[&str]) -> Vec<&'a RowResult> {
    let found = patterns.iter().map(|pattern| rows::measured(run, pattern)).find(|rows| !rows.is_empty());
    found.unwrap_or_default()
}

fn of_pattern(run: &Run, title: &str, rows: Vec<&RowResult>) -> Vec<String> {
    let placements = rows::placements(run, &rows);
    let of = |&placement| {
        let at: Vec<&RowResult> = rows::at(&rows, placement).into_iter().filter(|row| rows::competes(row)).collect();
        let (of_kernel, whose) = choices(&at);
        sentence(&of_kernel).map(|words| format!("{title} ({}{whose}): {words}.", rows::placement_words(placement)))
    };
    placements.iter().filter_map(of).collect()
}

/// Returns the rows among which a program chooses, and what they are in words if that needs saying: the kernel's own
/// mechanisms and external programs; those of a runtime only if there are no others.
fn choices<'a>(rows: &[&'a RowResult]) -> (Vec<&'a RowResult>, &'static str) {
    let own: Vec<&RowResult> = rows.iter().copied().filter(|row| rows::provider(row) != Provider::Runtime).collect();
    let has_runtime = own.len() < rows.len();
    match (own.is_empty(), has_runtime) {
        (true, _) => (rows.to_vec(), ""),
        (false, false) => (own, ""),
        (false, true) if own.iter().any(|row| rows::provider(row) == Provider::External) => (own, ", without STREAMS"),
        (false, true) => (own, ", the kernel's own"),
    }
}

fn sentence(rows: &[&RowResult]) -> Option<String> {
    if let [(only, _)] = rows::subjects(rows)[..] {
        let ends = rows::unique([rows.first()?.row.id.as_str(), rows.last()?.row.id.as_str()]);
        let ends = rows.iter().filter(|row| ends.contains(&row.row.id.as_str()));
        let figures: Vec<String> = ends.map(|row| format!("{} at {}", figure(row), size(row))).collect();
        let verb = if is_duration(rows.first()?) { "takes" } else { "moves" };
        return Some(format!("{only} {verb} {}", figures.join(" and ")));
    }
    let ranges = ranges(rows);
    let last = ranges.len().checked_sub(1)?;
    let words = ranges
        .iter()
        .enumerate()
        .map(|(index, range)| format!("{} ({})", range.words(index == 0, index == last), figure_of(range, rows)));
    Some(words.collect::<Vec<_>>().join("; "))
}

/// Returns the figure of a range and its ratio to the pipe: messages and durations at its first size, bytes at its last.
fn figure_of(range: &Range<'_>, rows: &[&RowResult]) -> String {
    let row = if says_bytes(range.first_best()) { range.last_best() } else { range.first_best() };
    let place = if range.is_point() { String::new() } else { format!(" at {}", size(row)) };
    let beside = beside_reference(row, rows).map_or_else(String::new, |words| format!(", {words}"));
    format!("{}{place}{beside}", figure(row))
}

/// Returns `1.3 times as fast as pipe`; `None` if the pipe is the row, leads as well, or was not measured.
fn beside_reference(row: &RowResult, rows: &[&RowResult]) -> Option<String> {
    let like = super::of_size(rows, row.row.size_bytes?);
    let reference = like.iter().copied().find(|other| other.row.subject == REFERENCE)?;
    if judge::leaders(&like).iter().any(|leader| leader.row.id == reference.row.id) && !super::is_single(row) {
        return None;
    }
    (row.row.id != reference.row.id)
        .then(|| judge::advantage(row, reference))
        .flatten()
        .map(|advantage| format!("{} as fast as {REFERENCE}", units::times(advantage)))
}

fn figure(result: &RowResult) -> String {
    if is_duration(result) {
        format!("{} on average", units::duration_ns(median(result)))
    } else if says_bytes(result) {
        units::bytes_per_second(median(result) * result.row.size_bytes.unwrap_or(0) as f64)
    } else {
        format!("{} messages/s", units::prefixed(median(result)))
    }
}

fn is_duration(result: &RowResult) -> bool {
    rows::own(result).is_some_and(|own| own.metric.better == Better::Lower)
}

fn says_bytes(result: &RowResult) -> bool {
    !is_duration(result) && result.row.size_bytes.is_some_and(|size| size >= BYTES_FROM)
}

fn size(result: &RowResult) -> String {
    units::size_in_words(result.row.size_bytes.unwrap_or(0))
}
