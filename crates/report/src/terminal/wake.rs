//! `wake`: the one-way delay to a sleeping reader.

use headwater_results::schema::RowResult;

use super::Section;
use super::cells::{Fixed, NONE, grouped, own};
use super::frame::{captioned, framed};
use super::page::Page;
use crate::grid::{Cell, Grid};
use crate::judge;
use crate::rows;
use crate::units;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &["wake"], draw };

const DEFINITION: &str = "One message to a reader that has slept for 500 us, from before the send to after the \
                          receive. us, lower is better: median over launches, percentiles of single messages.";

const PERCENTS: [f64; 2] = [50.0, 90.0];

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let rows = rows::measured(run, "wake");
    framed("Waking a sleeping reader (wake, one_way)", DEFINITION, run, &rows, style, |rows| {
        let sizes = rows::sizes(rows);
        let drawn = sizes.iter().map(|&size| {
            let rows: Vec<&RowResult> = rows.iter().copied().filter(|row| row.row.size_bytes == Some(size)).collect();
            captioned(&format!("{}:", units::size_in_words(size)), &grid(&rows, page).draw(style), style)
        });
        drawn.collect::<Vec<_>>().join("\n\n")
    })
}

fn grid(rows: &[&RowResult], page: &Page<'_>) -> Grid {
    let best = judge::marked(rows, true);
    let fixed = Fixed::of(rows.iter().filter_map(|row| rows::own(row)).map(|own| own.estimate.median / 1e3));
    let cells = |row: &RowResult| {
        let mut cells = vec![own(row, |ns| fixed.text(ns / 1e3), &best, page)];
        cells.extend(PERCENTS.map(|percent| {
            let value = rows::percentile(row, percent).map(|ns| fixed.text(ns / 1e3));
            Cell::plain(value.unwrap_or_else(|| NONE.to_owned()))
        }));
        cells
    };
    let lines = grouped(rows::subjects(rows), |subject, standing| {
        let row = rows.iter().find(|row| row.row.subject == subject && row.row.standing == standing);
        row.map(|row| cells(row)).unwrap_or_default()
    });
    Grid { corner: "transport".to_owned(), heads: ["median", "p50", "p90"].map(str::to_owned).into(), lines }
}
