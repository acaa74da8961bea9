//! Cells and tables of figures, shared by the sections.

use headwater_results::estimate::Estimate;
use headwater_results::schema::{RowResult, Standing};

use super::page::Page;
pub(super) use crate::fixed::Fixed;
use crate::grid::{Cell, Grid, Line};
use crate::style::Style;
use crate::{judge, rows, units};

/// The text of a cell without a figure.
pub(crate) const NONE: &str = "-";

/// Returns the cell of a row's own figure, formatted by `text`, with its interval and flags.
pub(super) fn own(result: &RowResult, text: impl Fn(f64) -> String, best: &[&RowResult], page: &Page<'_>) -> Cell {
    let Some(own) = rows::own(result) else { return Cell::plain(NONE) };
    if judge::span(result).is_some() {
        // No single value stands for launches that differ so much.
        let value = format!("{} to {}", text(own.estimate.low).trim(), text(own.estimate.high).trim());
        return Cell { marks: page.marks(&result.flags), ..Cell::plain(value) };
    }
    Cell {
        value: text(own.estimate.median),
        spread: spread(&own.estimate, page.style),
        marks: page.marks(&result.flags),
        is_best: best.iter().any(|one| one.row.id == result.row.id),
    }
}

/// Formats half the width of the interval in percent of the median. Empty for a single launch, which has no interval.
pub(crate) fn spread(estimate: &Estimate, style: &Style) -> String {
    let sign = style.plus_minus();
    match estimate.relative_half_width().map(|share| share * 100.0) {
        None => String::new(),
        Some(_) if estimate.n < 2 => String::new(),
        Some(per_cent) if per_cent > 999.0 => format!("{sign}>999%"),
        Some(per_cent) if per_cent > 0.0 && per_cent < 0.95 => format!("{sign}{per_cent:.1}%"),
        Some(per_cent) => format!("{sign}{per_cent:.0}%"),
    }
}

/// Formats a rate without its unit; numbers without a prefix get a blank instead.
pub(super) fn padded_rate(per_second: f64) -> String {
    let (digits, prefix) = units::scaled(per_second);
    format!("{digits} {prefix:1}")
}

/// Returns a table with a line per subject and a column per size. Limits and null are below the candidates.
pub(super) fn by_size(rows: &[&RowResult], cell: impl Fn(&RowResult, &[&RowResult]) -> Cell) -> Grid {
    let sizes = rows::sizes(rows);
    let columns = sizes.iter().map(|&size| {
        let column: Vec<&RowResult> = rows.iter().copied().filter(|row| row.row.size_bytes == Some(size)).collect();
        (units::size(size), column)
    });
    by_column("transport", columns.collect(), cell)
}

/// Returns a table with a line per subject and the given columns: each with its head and its rows, one per subject.
/// `cell` receives the best rows of its column.
pub(super) fn by_column(
    corner: &str,
    columns: Vec<(String, Vec<&RowResult>)>,
    cell: impl Fn(&RowResult, &[&RowResult]) -> Cell,
) -> Grid {
    let all: Vec<&RowResult> = columns.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
    let best: Vec<Vec<&RowResult>> = columns.iter().map(|(_, rows)| judge::marked(rows, true)).collect();
    let cells = |subject: &str, standing: Standing| {
        columns
            .iter()
            .zip(&best)
            .map(|((_, rows), best)| {
                let row = rows.iter().find(|row| row.row.subject == subject && row.row.standing == standing);
                row.map_or_else(|| Cell::plain(NONE), |row| cell(row, best))
            })
            .collect()
    };
    let lines = grouped(rows::subjects(&all), cells);
    Grid { corner: corner.to_owned(), heads: columns.iter().map(|(head, _)| head.clone()).collect(), lines }
}

/// Returns a line per subject, with a line of text before the limits and before null.
pub(super) fn grouped(subjects: Vec<(&str, Standing)>, cells: impl Fn(&str, Standing) -> Vec<Cell>) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut group = None;
    for (subject, standing) in subjects {
        let words = match standing {
            Standing::Candidate => None,
            Standing::External => Some("external:"),
            Standing::Limit => Some("limits:"),
            Standing::Null => Some("harness alone:"),
        };
        if let Some(words) = words.filter(|_| group != Some(standing)) {
            lines.push(Line { label: words.to_owned(), is_quiet: true, cells: Vec::new() });
        }
        group = Some(standing);
        let is_quiet = matches!(standing, Standing::Limit | Standing::Null);
        let indent = if words.is_some() { "  " } else { "" };
        lines.push(Line { label: format!("{indent}{subject}"), is_quiet, cells: cells(subject, standing) });
    }
    lines
}

#[cfg(test)]
mod tests;
