//! The cost of streaming: CPU time and context switches of both ends per message.

use headwater_results::schema::RowResult;

use super::Section;
use super::cells::{NONE, by_size};
use super::frame::{captioned, framed};
use super::page::Page;
use crate::grid::{Cell, Grid};
use crate::rows;
use crate::units;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[], draw };

const DEFINITION: &str = "CPU time of both ends, user and system, ns per message by size; lower is better.";
const ON_THE_WAY: &str =
    "On the way (sent, and not yet received) when the sender had ended, from the receiver's time stamps:";
const SWITCHES: &str = "Context switches of both ends per 1000 messages, voluntary/involuntary:";

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let rows: Vec<&RowResult> =
        rows::measured(run, "stream").into_iter().filter(|row| rows::cpu_ns(row).is_some()).collect();
    framed("What a message costs (stream)", DEFINITION, run, &rows, style, |rows| {
        let cpu = by_size(rows, |row, _| optional(rows::cpu_ns(row).map(units::significant_grouped)));
        let switches = by_size(rows, |row, _| optional(switches(row)));
        let mut drawn = cpu.draw_either_way("size", style);
        let mut add = |caption, grid: Grid| {
            drawn += "\n\n";
            drawn += &captioned(caption, &grid.draw_either_way("size", style), style);
        };
        add(SWITCHES, switches);
        if rows.iter().any(|row| rows::on_the_way(row).is_some()) {
            add(ON_THE_WAY, by_size(rows, |row, _| optional(rows::on_the_way(row).map(units::bytes))));
        }
        drawn
    })
}

fn optional(value: Option<String>) -> Cell {
    Cell::plain(value.unwrap_or_else(|| NONE.to_owned()))
}

/// Formats the context switches of both ends per 1000 messages, voluntary/involuntary.
pub(super) fn switches(result: &RowResult) -> Option<String> {
    let text = |what| rows::per_1000(result, what).map(units::few_or_grouped);
    Some(format!("{}/{}", text("voluntary_switches")?, text("involuntary_switches")?))
}
