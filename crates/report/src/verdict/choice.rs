//! The mechanism to use here: of the kernel's own, and of external programs beside them, the best by ranges of sizes, and how
//! far each other one is behind it. A sentence per use and placement.

use headwater_results::schema::{Better, RowResult, Run};

use super::median;
use super::range::{RANGES_MAX, Range, least_behind, place, ranges};
use super::relation::{factors, not_measured, within};
use crate::judge;
use crate::rows::{self, Provider};
use crate::text::capital;
use crate::units;

/// What a program does with a channel. Choices and the comparison with a runtime have a sentence, or a part, for each.
pub(super) struct Use {
    /// The name in a sentence.
    pub name: &'static str,
    /// Its patterns. The later ones are used if the run has not the first.
    pub patterns: &'static [&'static str],
    /// Whether both ends run meanwhile, if they have a CPU each: a ring is far ahead only then.
    pub both_run: bool,
}

/// The uses, in the order of the output.
pub(super) static USES: [Use; 4] = [
    Use { name: "a stream of messages", patterns: &["stream", "stream-full", "single"], both_run: true },
    Use { name: "request and answer", patterns: &["rtt"], both_run: true },
    Use { name: "request and answer between event loops", patterns: &["epoll-level", "epoll-edge"], both_run: false },
    Use { name: "a message to a sleeping reader", patterns: &["wake"], both_run: false },
];

/// From this size on, a rate is given in bytes.
const BYTES_FROM: u64 = 4096;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    USES.iter().flat_map(|of| of_use(run, of.name, &measured_first(run, of.patterns))).collect()
}

/// Returns the rows of the first of the patterns that was measured.
pub(super) fn measured_first<'a>(run: &'a Run, patterns: &[&str]) -> Vec<&'a RowResult> {
    let found = patterns.iter().map(|pattern| rows::measured(run, pattern)).find(|rows| !rows.is_empty());
    found.unwrap_or_default()
}

fn of_use(run: &Run, name: &str, rows: &[&RowResult]) -> Vec<String> {
    let placements = rows::placements(run, rows);
    let of = |&placement| {
        let at: Vec<&RowResult> = rows::at(rows, placement).into_iter().filter(|row| rows::competes(row)).collect();
        let (of_kernel, whose) = choices(&at);
        let words = sentence(&of_kernel)?;
        Some(format!("{} ({}{whose}): {words}.", capital(name), rows::placement_words(placement)))
    };
    placements.iter().filter_map(of).collect()
}

/// Returns the rows among which a program chooses, and what they are in words if that needs saying: the kernel's own
/// mechanisms and external programs; those of a runtime only if there are no others.
pub(super) fn choices<'a>(rows: &[&'a RowResult]) -> (Vec<&'a RowResult>, &'static str) {
    let own: Vec<&RowResult> = rows.iter().copied().filter(|row| rows::provider(row) != Provider::Runtime).collect();
    let has_runtime = own.len() < rows.len();
    match (own.is_empty(), has_runtime) {
        (true, _) => (rows.to_vec(), ""),
        (false, false) => (own, ""),
        (false, true) if own.iter().any(|row| rows::provider(row) == Provider::External) => (own, ", without STREAMS"),
        (false, true) => (own, ", the kernel's mechanisms"),
    }
}

fn sentence(rows: &[&RowResult]) -> Option<String> {
    if let [(only, _)] = rows::subjects(rows)[..] {
        return alone(only, rows);
    }
    let ranges = ranges(rows);
    let last = ranges.len().checked_sub(1)?;
    if last >= RANGES_MAX {
        return Some(over_sizes(&ranges, rows));
    }
    let words =
        ranges.iter().enumerate().map(|(index, range)| range.words(index == 0, index == last, &figure_of(range)));
    Some(words.collect::<Vec<_>>().join(". ").replace(". at ", ". At ").replace(". from ", ". From "))
}

/// Returns the figures of the only mechanism: no choice, but what it does.
fn alone(only: &str, rows: &[&RowResult]) -> Option<String> {
    let ends = rows::unique([rows.first()?.row.id.as_str(), rows.last()?.row.id.as_str()]);
    let ends = rows.iter().filter(|row| ends.contains(&row.row.id.as_str()));
    let figures: Vec<String> = ends
        .map(|row| match judge::span(row) {
            Some(span) => format!("an unknown rate at {} ({})", size(row), not_measured(span)),
            None => format!("{} at {}", figure(row), size(row)),
        })
        .collect();
    let verb = if is_duration(rows.first()?) { "takes" } else { "moves" };
    Some(format!("{only} {verb} {}", figures.join(" and ")))
}

/// Returns the advice where the best changes with the size: the one that is never far behind.
fn over_sizes(ranges: &[Range<'_>], rows: &[&RowResult]) -> String {
    let sizes = rows::sizes(rows);
    let ends = sizes.first().zip(sizes.last()).map_or((0, 0), |(first, last)| (*first, *last));
    let start = format!(
        "the fastest mechanism changes with the size ({} to {})",
        units::size_in_words(ends.0),
        units::size_in_words(ends.1)
    );
    match least_behind(ranges) {
        Some((name, by)) if by <= 1.0 + judge::EQUIVALENCE => {
            format!("{} {name} is the fastest, or as fast as the fastest ({})", place(ends, true, true), within())
        }
        Some((name, by)) => format!("{start}; {name} is never more than {} slower than the fastest", factors(by, by)),
        None => format!("{start}; the table shows each"),
    }
}

/// Returns the mechanism that is never far behind, alone.
pub(super) fn never_far_behind(ranges: &[Range<'_>]) -> Option<String> {
    let (name, by) = least_behind(ranges)?;
    Some(match by <= 1.0 + judge::EQUIVALENCE {
        true => format!("{name} ({} of the fastest at every size)", within()),
        false => format!("{name} (never more than {} slower than the fastest)", factors(by, by)),
    })
}

/// Returns the figure of a range: messages and durations at its first size, bytes at its last.
fn figure_of(range: &Range<'_>) -> String {
    let row = if says_bytes(range.first_best()) { range.last_best() } else { range.first_best() };
    let place = if range.is_point() { String::new() } else { format!(" at {}", size(row)) };
    format!("{}{place}", figure(row))
}

fn figure(result: &RowResult) -> String {
    if is_duration(result) {
        units::duration_ns(median(result))
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
