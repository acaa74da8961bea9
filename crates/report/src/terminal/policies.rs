//! The contribution of each policy of a subject: the rate and its costs, one table per size. Shown if a subject ran
//! under several policies, as in the suite `why`.

use std::collections::BTreeMap;

use headwater_results::schema::RowResult;

use super::Section;
use super::cells::{NONE, grouped, own, padded_rate};
use super::cost::switches;
use super::frame::{captioned, framed};
use super::page::Page;
use crate::grid::{Cell, Grid};
use crate::judge;
use crate::rows;
use crate::units;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[], draw };

const DEFINITION: &str = "The rate, higher is better, and what it cost both ends: CPU time, user and system, ns per \
                          message; per 1000 messages the wake-up calls and the sleeps that the transport counts, and \
                          the context switches, voluntary/involuntary.";

/// Two policies are shown sufficiently by the tables by size.
const POLICIES_MIN: usize = 3;

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let rows = rows::measured(run, "stream");
    if policies_max(&rows) < POLICIES_MIN {
        return None;
    }
    framed("What each policy is worth (stream)", DEFINITION, run, &rows, style, |rows| {
        let drawn = rows::sizes(rows).into_iter().map(|size| {
            let rows: Vec<&RowResult> = rows.iter().copied().filter(|row| row.row.size_bytes == Some(size)).collect();
            captioned(&format!("Messages of {}:", units::size_in_words(size)), &grid(&rows, page).draw(style), style)
        });
        drawn.collect::<Vec<_>>().join("\n\n")
    })
}

/// Returns the largest number of policies of a subject: `streams-eager` is `streams` under `eager`.
fn policies_max(rows: &[&RowResult]) -> usize {
    let mut policies: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows.iter().map(|result| &result.row) {
        let Some(policy) = row.policy.as_deref() else { continue };
        let subject = row.subject.strip_suffix(policy).unwrap_or(&row.subject);
        policies.entry(subject).or_default().push(policy);
    }
    policies.into_values().map(|names| rows::unique(names).len()).max().unwrap_or(0)
}

/// Returns a line per subject, with its rate and costs.
fn grid(rows: &[&RowResult], page: &Page<'_>) -> Grid {
    let best = judge::marked(rows, true);
    let optional = |value: Option<String>| Cell::plain(value.unwrap_or_else(|| NONE.to_owned()));
    let cells = |row: &RowResult| {
        let per_1000 = |what| optional(rows::per_1000(row, what).map(units::few_or_grouped));
        vec![
            own(row, padded_rate, &best, page),
            optional(rows::cpu_ns(row).map(units::significant_grouped)),
            per_1000("wake_ups"),
            per_1000("blocks"),
            optional(switches(row)),
        ]
    };
    let lines = grouped(rows::subjects(rows), |subject, standing| {
        let row = rows.iter().find(|row| row.row.subject == subject && row.row.standing == standing);
        row.map(|row| cells(row)).unwrap_or_default()
    });
    let heads = ["messages/s", "CPU", "wake-ups", "sleeps", "switches"].map(str::to_owned).into();
    Grid { corner: "transport".to_owned(), heads, lines }
}
