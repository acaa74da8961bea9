//! The summary tables of basic operations, as reports print those of LMbench: a line per operation, a column per run,
//! variant or placement. Drawn by the terminal and by the HTML page.

use headwater_results::estimate::Estimate;
use headwater_results::schema::{LMBENCH_VALUE, MetricResult, Placement, RowResult, Run};

use crate::fixed::Fixed;
use crate::grid::{Cell, Grid, Line};
use crate::{rows, units};
use groups::{GROUPS, Group};

mod groups;

pub(crate) use groups::PATTERNS;

/// Above the tables.
pub(crate) const TITLE: &str = "Basic operations (lmbench-equivalent)";

/// What a figure is.
pub(crate) const DEFINITION: &str = "Rows as LMbench has them, by equivalent definitions, then today's. Median over launches; a \
                                     figure without an interval is of one launch, or stands in a report.";

/// What a figure is by the old rule.
pub(crate) const OLD_DEFINITION: &str = "By the rule of LMbench where a run has it (lmbench_value: of a launch the median of 11 \
                                         batches, of memory the best), median over launches; else the row's own figure.";

/// A column: rows that were measured under the same circumstances.
#[derive(Clone, Debug)]
pub(crate) struct Column<'a> {
    head: String,
    rows: Vec<&'a RowResult>,
}

/// A table with a line of words above it.
#[derive(Clone, Debug)]
pub(crate) struct TitledTable {
    pub caption: String,
    pub grid: Grid,
}

/// How a value is written.
type Text<'a> = &'a dyn Fn(f64) -> String;

/// How cells are filled.
#[derive(Clone, Copy)]
pub(crate) struct CellFilling<'a> {
    /// Whether the figure by the old rule stands where a row has it.
    pub old: bool,
    /// An interval in a few characters; the text of a value is the cell's.
    pub spread: &'a dyn Fn(&Estimate, Text<'_>) -> String,
    /// The letters of a row's flags.
    pub marks: &'a dyn Fn(&RowResult) -> String,
}

/// Whether the run has tables of operations.
pub(crate) fn has_any(run: &Run) -> bool {
    rows::all_measured(run).any(|result| PATTERNS.contains(&&*result.row.pattern))
}

/// Whether the row stands in the tables, if its run has any.
pub(crate) fn has_line(result: &RowResult) -> bool {
    GROUPS.iter().any(|group| group.place(result).is_some())
}

/// The columns of these runs, each with its name; runs without operations have none. A run has one for each of its
/// placements.
pub(crate) fn columns<'a>(runs: &[(&str, &'a Run)]) -> Vec<Column<'a>> {
    let with_operations: Vec<(&str, &'a Run)> = runs.iter().copied().filter(|(_, run)| has_any(run)).collect();
    let names: Vec<&str> = with_operations.iter().map(|(name, _)| *name).collect();
    let is_alone = names.len() < 2;
    let mut columns = Vec::new();
    for (name, (_, run)) in last_parts(&names).into_iter().zip(&with_operations) {
        let all: Vec<&RowResult> = rows::all_measured(run).filter(|result| has_line(result)).collect();
        let placements = rows::placements(run, &all);
        for &placement in &placements {
            let place = rows::place(placement);
            let head = match (is_alone, placements.len()) {
                (true, 1) => "median".to_owned(),
                (true, _) => place.to_owned(),
                (false, 1) => name.to_owned(),
                (false, _) => format!("{name}, {place}"),
            };
            columns.push(Column { head, rows: rows::at(&all, placement) });
        }
    }
    columns
}

/// The last part of each name, `up-a` of `published:ltt/up-a`; the names as they are where two would be alike.
fn last_parts<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let last: Vec<&str> = names.iter().map(|name| name.rsplit('/').next().unwrap_or(name)).collect();
    let is_fit = rows::unique(last.iter().copied()).len() == names.len() && last.iter().all(|part| !part.is_empty());
    if is_fit { last } else { names.to_vec() }
}

/// The placement that all columns share.
pub(crate) fn placement(columns: &[Column<'_>]) -> Option<Placement> {
    let all = columns.iter().flat_map(|column| &column.rows).map(|result| result.row.placement);
    match rows::unique(all)[..] {
        [only] => Some(only),
        _ => None,
    }
}

/// The tables that have a line, in the order of the reports.
pub(crate) fn parts(columns: &[Column<'_>], filling: &CellFilling<'_>) -> Vec<TitledTable> {
    let part = |group: &Group| {
        let lines = lines(group, columns);
        let heads = columns.iter().map(|column| column.head.clone()).collect();
        let lines: Vec<Line> = lines.into_iter().map(|line| line.draw(group, columns, filling)).collect();
        let grid = Grid { corner: "operation".to_owned(), heads, lines };
        (!grid.lines.is_empty()).then(|| TitledTable { caption: group.caption.to_owned(), grid })
    };
    GROUPS.iter().filter_map(part).collect()
}

/// A line before it is drawn: what tells its rows from others.
#[derive(Clone, Debug, PartialEq)]
struct Key<'a> {
    /// Its place among those that the group names; those that it does not name come after, as they appear.
    place: usize,
    subject: &'a str,
    pattern: &'a str,
    size_bytes: Option<u64>,
    is_quiet: bool,
}

/// The lines of a group that a column has.
fn lines<'a>(group: &Group, columns: &[Column<'a>]) -> Vec<Key<'a>> {
    let key = |result: &&'a RowResult| {
        let row = &result.row;
        let is_quiet = !rows::competes(result);
        let place = group.place(result)?;
        Some(Key { place, subject: &row.subject, pattern: &row.pattern, size_bytes: row.size_bytes, is_quiet })
    };
    let mut keys = rows::unique(columns.iter().flat_map(|column| column.rows.iter().filter_map(key)));
    keys.sort_by_key(|key| (key.is_quiet, key.place));
    keys
}

impl Key<'_> {
    fn find<'a>(&self, column: &Column<'a>) -> Option<&'a RowResult> {
        let is_it = |result: &&&RowResult| {
            let row = &result.row;
            (&*row.subject, &*row.pattern, row.size_bytes) == (self.subject, self.pattern, self.size_bytes)
        };
        column.rows.iter().find(is_it).copied()
    }

    fn draw(&self, group: &Group, columns: &[Column<'_>], filling: &CellFilling<'_>) -> Line {
        let figures: Vec<_> = columns
            .iter()
            .map(|column| self.find(column).and_then(|result| Some((result, figure(result, filling.old)?))))
            .collect();
        let in_unit = |value: f64, metric: &MetricResult| group.value(value, &metric.metric.unit);
        let fixed = Fixed::three_digits(
            figures.iter().flatten().filter_map(|(_, metric)| in_unit(metric.estimate.median, metric)),
        );
        let cell = |found: &Option<(&RowResult, &MetricResult)>| {
            let Some((result, metric)) = found else { return Cell::plain("-") };
            let text = |value: f64| match in_unit(value, metric) {
                Some(value) => fixed.text(value),
                None => units::quantity(value, &metric.metric.unit),
            };
            Cell {
                value: text(metric.estimate.median),
                spread: (filling.spread)(&metric.estimate, &text),
                marks: (filling.marks)(result),
                is_best: false,
            }
        };
        Line { label: self.label(), is_quiet: self.is_quiet, cells: figures.iter().map(cell).collect() }
    }

    /// The subject; of a sweep of sizes with the size.
    fn label(&self) -> String {
        match self.size_bytes {
            Some(bytes) if self.pattern != "rtt" => format!("{} {}", self.subject, units::size(bytes)),
            _ => self.subject.to_owned(),
        }
    }
}

/// The figure that is shown.
fn figure(result: &RowResult, old: bool) -> Option<&MetricResult> {
    let by_old_rule = || rows::metric(result, LMBENCH_VALUE);
    if old { by_old_rule().or_else(|| rows::own(result)) } else { rows::own(result) }
}

#[cfg(test)]
mod tests;
