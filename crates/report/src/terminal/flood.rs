//! `flood`: sent, received and lost messages when the sender does not wait.

use headwater_results::schema::RowResult;

use super::Section;
use super::cells::{NONE, grouped, padded_rate, spread};
use super::frame::{captioned, framed};
use super::page::Page;
use crate::grid::{Cell, Grid, Line};
use crate::judge;
use crate::rows;
use crate::units;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &["flood"], draw };

const DEFINITION: &str = "rx: messages received, tx: messages sent, both per second of the \
                          sender's time (higher is better); lost: share of those sent (lower is better).";

const HEADS: [&str; 3] = ["rx", "tx", "lost"];

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let rows = rows::measured(run, "flood");
    framed("One way, the sender never waits (flood, one_way)", DEFINITION, run, &rows, style, |rows| {
        let subjects = rows::subjects(rows);
        let sizes = rows::sizes(rows);
        // A sweep of sizes has a line per size; a few sizes of many transports have a line per transport.
        let grids: Vec<(String, Grid)> = if sizes.len() > subjects.len().max(2) {
            subjects.iter().map(|&(subject, _)| (subject.to_owned(), sweep(rows, subject, page))).collect()
        } else {
            sizes.iter().map(|&size| (units::size_in_words(size), at_size(rows, size, page))).collect()
        };
        let drawn = grids.iter().map(|(name, grid)| captioned(&format!("{name}:"), &grid.draw(style), style));
        drawn.collect::<Vec<_>>().join("\n\n")
    })
}

fn sweep(rows: &[&RowResult], subject: &str, page: &Page<'_>) -> Grid {
    let lines = rows.iter().filter(|row| row.row.subject == subject).map(|row| Line {
        label: row.row.size_bytes.map_or_else(|| NONE.to_owned(), units::size),
        is_quiet: false,
        cells: cells(row, &[], page),
    });
    Grid { corner: "size".to_owned(), heads: HEADS.map(str::to_owned).into(), lines: lines.collect() }
}

fn at_size(rows: &[&RowResult], size: u64, page: &Page<'_>) -> Grid {
    let rows: Vec<&RowResult> = rows.iter().copied().filter(|row| row.row.size_bytes == Some(size)).collect();
    let best = judge::marked(&rows, true);
    let lines = grouped(rows::subjects(&rows), |subject, standing| {
        let row = rows.iter().find(|row| row.row.subject == subject && row.row.standing == standing);
        row.map(|row| cells(row, &best, page)).unwrap_or_default()
    });
    Grid { corner: "transport".to_owned(), heads: HEADS.map(str::to_owned).into(), lines }
}

fn cells(result: &RowResult, best: &[&RowResult], page: &Page<'_>) -> Vec<Cell> {
    let cell = |name: &str, text: fn(f64) -> String| match rows::metric(result, name) {
        Some(metric) => {
            Cell { spread: spread(&metric.estimate, page.style), ..Cell::plain(text(metric.estimate.median)) }
        }
        None => Cell::plain(NONE),
    };
    let rx = Cell {
        is_best: best.iter().any(|one| one.row.id == result.row.id),
        marks: page.marks(&result.flags),
        ..cell("rx_rate", padded_rate)
    };
    // The interval of a loss in percent of itself could be mistaken for one in percent of the sent messages.
    vec![rx, cell("tx_rate", padded_rate), Cell { spread: String::new(), ..cell("loss", units::percent) }]
}
