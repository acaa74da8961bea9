//! The answer in a sentence for each use: the mechanism to take, and how STREAMS stands to it. Called by the page, whose first
//! screen has no room for the sentences with every figure.

use headwater_results::schema::{Placement, RowResult, Run};

use super::beyond;
use super::caution;
use super::choice::{USES, Use, choices, measured_first, never_far_behind};
use super::range::{RANGES_MAX, ranges};
use super::relation::is_past;
use crate::rows;
use crate::text::capital;

/// Returns a sentence for each use, at two CPUs if they were measured. There is none where nothing is chosen, or the launches are too
/// few for a choice.
pub(crate) fn answers(run: &Run) -> Vec<String> {
    let estimates = || rows::all_measured(run).filter_map(rows::own).map(|own| own.estimate);
    if estimates().all(|estimate| is_past(&estimate)) {
        return Vec::new();
    }
    let found: Vec<String> = USES.iter().filter_map(|of| answer(run, of)).collect();
    let caution = caution::busy_short(run).filter(|_| !found.is_empty());
    found.into_iter().chain(caution).collect()
}

fn answer(run: &Run, of: &Use) -> Option<String> {
    let rows = measured_first(run, of.patterns);
    let placements = rows::placements(run, &rows);
    let placement = *placements.iter().find(|&&at| at == Placement::TwoCpus).or(placements.first())?;
    let rows = rows::at(&rows, placement);
    let parts: Vec<String> = choice(&rows).into_iter().chain(beside(of, &rows, placement)).collect();
    let place = if placements.len() > 1 { format!(" ({})", rows::placement_words(placement)) } else { String::new() };
    (!parts.is_empty()).then(|| format!("{}{place}: {}.", capital(of.name), parts.join("; ")))
}

/// Returns `pipe up to 4 KiB, unix-stream from 8 KiB`; `None` for a single mechanism.
fn choice(rows: &[&RowResult]) -> Option<String> {
    let competing: Vec<&RowResult> = rows.iter().copied().filter(|row| rows::competes(row)).collect();
    let (rows, _) = choices(&competing);
    if rows::subjects(&rows).len() < 2 {
        return None;
    }
    let ranges = ranges(&rows);
    let last = ranges.len().checked_sub(1)?;
    if last >= RANGES_MAX {
        return never_far_behind(&ranges);
    }
    let words = ranges.iter().enumerate().map(|(index, range)| range.short(index == 0, index == last));
    Some(words.collect::<Vec<_>>().join(", "))
}

/// Returns `streams-pipe is 90 times as fast as pipe while both ends run`.
fn beside(of: &Use, rows: &[&RowResult], placement: Placement) -> Option<String> {
    let ranges = beyond::ranges(&beyond::steps(rows));
    let condition = match (of.both_run, placement) {
        (false, _) => String::new(),
        (true, Placement::SameCpu) => format!(" {}", beyond::ONE_CPU),
        (true, _) => format!(" {}", beyond::BOTH_RUN),
    };
    let words = match &ranges[..] {
        [] => return None,
        [only] => only.short(),
        [first, .., last] => first.short_of_two(last),
    };
    Some(words + &condition)
}
