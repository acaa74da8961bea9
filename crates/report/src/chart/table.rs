//! The values of a chart over sizes as a table, with the longer of series and sizes as lines. Used by the charts over
//! sizes.

use headwater_results::estimate::Estimate;
use headwater_results::schema::{RowResult, Standing};

use super::source::{Series, is_one_run};
use crate::grid::{Cell, Grid, Line};
use crate::judge;
use crate::units;

/// A larger table is omitted; the table of rows contains its values.
const CELLS_MAX: usize = 2000;

/// Returns a table of `value` by series and size, each cell with half the width of its interval. With `marks_best`, the
/// best candidates of each size are marked. `None` if the table would be too large.
pub(crate) fn by_size(
    series: &[&Series<'_>],
    sizes: &[u64],
    value: &dyn Fn(&Series<'_>, &RowResult) -> Option<Estimate>,
    text: &dyn Fn(f64) -> String,
    marks_best: bool,
) -> Option<Grid> {
    if series.len() * sizes.len() > CELLS_MAX {
        return None;
    }
    let best: Vec<Vec<*const RowResult>> = sizes
        .iter()
        .map(|size| {
            let rows: Vec<&RowResult> = series.iter().filter_map(|series| at(series, *size)).collect();
            let best = if marks_best { judge::marked(&rows, is_one_run(series)) } else { Vec::new() };
            best.into_iter().map(std::ptr::from_ref).collect()
        })
        .collect();
    let cell = |series: &Series<'_>, index: usize| {
        let Some(row) = at(series, sizes[index]) else { return Cell::plain("") };
        let Some(estimate) = value(series, row) else { return Cell::plain("") };
        let is_best = best[index].contains(&std::ptr::from_ref(row));
        Cell { spread: spread(&estimate, text), marks: flags(row), is_best, ..Cell::plain(text(estimate.median)) }
    };
    let is_quiet = |series: &Series<'_>| !matches!(series.standing, Standing::Candidate | Standing::External);
    Some(if sizes.len() > series.len() {
        let line = |(index, size): (usize, &u64)| Line {
            label: units::size_in_words(*size),
            is_quiet: false,
            cells: series.iter().map(|series| cell(series, index)).collect(),
        };
        let heads = series.iter().map(|series| series.label.clone()).collect();
        Grid { corner: "size".to_owned(), heads, lines: sizes.iter().enumerate().map(line).collect() }
    } else {
        let line = |series: &&Series<'_>| Line {
            label: series.label.clone(),
            is_quiet: is_quiet(series),
            cells: (0..sizes.len()).map(|index| cell(series, index)).collect(),
        };
        let heads = sizes.iter().map(|size| units::size_in_words(*size)).collect();
        Grid { corner: String::new(), heads, lines: series.iter().map(line).collect() }
    })
}

/// Returns the row of that size.
pub(crate) fn at<'a>(series: &Series<'a>, size: u64) -> Option<&'a RowResult> {
    let place = series.rows.partition_point(|row| row.row.size_bytes < Some(size));
    series.rows.get(place).copied().filter(|row| row.row.size_bytes == Some(size))
}

/// Formats half the width of the interval in percent of the median, or both ends if it is very asymmetric.
pub(crate) fn spread(estimate: &Estimate, text: &dyn Fn(f64) -> String) -> String {
    if estimate.n < 2 {
        return String::new();
    }
    match estimate.relative_half_width() {
        Some(share) if share < 1.0 => format!("\u{b1}{}", units::percent(share)),
        _ => format!("{} .. {}", text(estimate.low), text(estimate.high)),
    }
}

/// Returns the letters of a row's flags.
pub(crate) fn flags(row: &RowResult) -> String {
    crate::rows::unique(row.flags.iter().map(headwater_results::flags::Flag::letter)).into_iter().collect()
}
