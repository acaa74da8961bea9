//! The patterns in which a transport is slower than the kernel's pipe, as the suite `use` shows.

use headwater_results::schema::{Placement, RowResult, Run};
use headwater_results::sorting::Arrange;

use super::choice::USES;
use crate::text::plural;
use crate::{meaning, rows, units, uses};

/// The most rows that are named.
const NAMED_MAX: usize = 3;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    // What is chosen among, and compared with a runtime, has sentences of its own.
    let is_elsewhere = |row: &&RowResult| USES.iter().any(|of| of.patterns.contains(&&*row.row.pattern));
    let measured: Vec<&RowResult> = uses::measured(run).into_iter().filter(|row| !is_elsewhere(row)).collect();
    let competitors: Vec<&RowResult> = measured.iter().copied().filter(|result| rows::competes(result)).collect();
    let subjects = rows::subjects(&competitors).into_iter().map(|(subject, _)| subject);
    subjects.filter_map(|subject| sentence(run, &measured, subject)).collect()
}

/// A row in which the subject is worse, and by how much.
struct Worse {
    name: String,
    placement: Placement,
    by: Option<f64>,
}

fn sentence(run: &Run, measured: &[&RowResult], subject: &str) -> Option<String> {
    let (mut worse, mut costly, mut compared) = (Vec::new(), 0, 0);
    for placement in rows::placements(run, measured) {
        for (pattern, size, group) in uses::groups(&rows::at(measured, placement)) {
            for beside in group.iter().filter(|beside| beside.result.row.subject == subject) {
                compared += usize::from(beside.times.is_some() || beside.words.is_some());
                costly += usize::from(beside.costs_more);
                if beside.is_worse {
                    worse.push(Worse {
                        name: uses::name(meaning::of_pattern(pattern), size),
                        placement,
                        by: beside.worse_by(),
                    });
                }
            }
        }
    }
    if worse.is_empty() && costly == 0 {
        return None;
    }
    // A row without a ratio is taken to be worse.
    worse.arrange_by(|one, other| other.by.unwrap_or(f64::INFINITY).total_cmp(&one.by.unwrap_or(f64::INFINITY)));
    let named = worse.iter().take(NAMED_MAX).map(|worse| {
        let by = worse.by.map_or_else(String::new, |by| format!(", {}", units::times(by)));
        format!("{} ({}{by})", worse.name, rows::placement_words(worse.placement))
    });
    let named: Vec<String> = named.collect();
    let most = if worse.is_empty() { String::new() } else { format!(", most of all in: {}", named.join("; ")) };
    let rows = plural(compared, "row");
    let worse = worse.len();
    Some(format!(
        "In patterns of use {subject} is worse than the kernel's pipe in {worse} of {rows}{most}. It takes more CPU time in {costly}."
    ))
}
