//! `rtt`: round trips: the mean with its interval, percentiles of single exchanges, and the cost of an exchange.

use headwater_results::schema::RowResult;

use super::Section;
use super::cells::{Fixed, NONE, grouped, own};
use super::frame::{captioned, framed};
use super::page::Page;
use crate::grid::{Cell, Grid};
use crate::judge;
use crate::operations;
use crate::rows;
use crate::units;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &["rtt"], draw };

const DEFINITION: &str = "A message forth and one of the same size back, closed loop. us, lower is better: mean, \
                          percentiles of single exchanges, CPU time of both ends. cs: context switches of both ends \
                          per 1000 exchanges.";

/// The percentiles of a round trip in the table.
const PERCENTS: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    // Rows without percentiles are already in the table of local latencies.
    let is_elsewhere =
        |row: &&RowResult| operations::has_any(run) && operations::has_line(row) && row.percentiles.is_empty();
    let mut rows = rows::measured(run, "rtt");
    rows.retain(|row| !is_elsewhere(row));
    framed("Round trip (rtt)", DEFINITION, run, &rows, style, |rows| {
        let drawn = rows::sizes(rows).into_iter().map(|size| {
            let rows: Vec<&RowResult> = rows.iter().copied().filter(|row| row.row.size_bytes == Some(size)).collect();
            let name = format!("rtt of {}:", units::size_in_words(size));
            captioned(&name, &grid(&rows, page).draw(style), style)
        });
        drawn.collect::<Vec<_>>().join("\n\n")
    })
}

fn grid(rows: &[&RowResult], page: &Page<'_>) -> Grid {
    let best = judge::marked(rows, true);
    let us = |ns: f64| ns / 1e3;
    let fixed = Fixed::of(rows.iter().filter_map(|row| rows::own(row)).map(|own| us(own.estimate.median)));
    let optional =
        |value: Option<f64>, text: &dyn Fn(f64) -> String| Cell::plain(value.map_or_else(|| NONE.to_owned(), text));
    let cells = |row: &RowResult| {
        let mut cells = vec![own(row, |ns| fixed.text(us(ns)), &best, page)];
        cells.extend(PERCENTS.map(|percent| optional(rows::percentile(row, percent).map(us), &|us| fixed.text(us))));
        let cpu_s = rows::both_ends(row, "user_s").zip(rows::both_ends(row, "system_s"));
        cells.push(optional(cpu_s.map(|(user, system)| (user + system) * 1e6), &|us| fixed.text(us)));
        let switches = rows::both_ends(row, "voluntary_switches").zip(rows::both_ends(row, "involuntary_switches"));
        cells.push(optional(switches.map(|(own, forced)| (own + forced) * 1e3), &units::grouped));
        cells
    };
    let lines = grouped(rows::subjects(rows), |subject, standing| {
        let row = rows.iter().find(|row| row.row.subject == subject && row.row.standing == standing);
        row.map(|row| cells(row)).unwrap_or_default()
    });
    let heads = ["mean", "p50", "p90", "p99", "p99.9", "CPU", "cs"].map(str::to_owned).into();
    Grid { corner: "transport".to_owned(), heads, lines }
}
