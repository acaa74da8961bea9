//! The summary tables of basic operations in the form of LMbench's reports: a line per operation, a column per run,
//! variant or placement. Drawn by the terminal and by the HTML page.

use headwater_results::estimate::Estimate;
use headwater_results::schema::{LMBENCH_VALUE, MetricResult, Placement, RowResult, Run};
use headwater_results::sorting::Arrange;

use crate::fixed::Fixed;
use crate::grid::{Cell, Grid, Line};
use crate::{rows, units};
use groups::{GROUPS, Group};

mod groups;

pub(crate) use groups::PATTERNS;

/// The title of the tables.
pub(crate) const TITLE: &str = "Basic operations (lmbench-equivalent)";

/// The definition of a figure.
pub(crate) const DEFINITION: &str = "Rows as LMbench has them, by equivalent definitions, then today's. Median over launches; a \
                                     figure without an interval is of one launch, or stands in a report.";

/// The definition of a figure by LMbench's rule.
pub(crate) const LMBENCH_RULE_DEFINITION: &str = "By the rule of LMbench where a run has it (lmbench_value: of a launch the median of 11 \
                                         batches, of memory the best), median over launches; else the row's own figure.";

/// A column: rows that were measured under the same circumstances.
#[derive(Clone, Debug)]
pub(crate) struct Column<'a> {
    head: String,
    rows: Vec<&'a RowResult>,
}

/// A table with a caption.
#[derive(Clone, Debug)]
pub(crate) struct TitledTable {
    pub caption: String,
    pub grid: Grid,
}

/// Formats a value.
type Text<'a> = &'a dyn Fn(f64) -> String;

/// How cells are filled.
#[derive(Clone, Copy)]
pub(crate) struct CellFilling<'a> {
    /// Whether the figure by LMbench's rule is shown if a row has it.
    pub old: bool,
    /// Formats an interval in a few characters; the second argument formats values as in the cell.
    pub spread: &'a dyn Fn(&Estimate, Text<'_>) -> String,
    /// Returns the letters of a row's flags.
    pub marks: &'a dyn Fn(&RowResult) -> String,
}

/// Whether the run has basic operations.
pub(crate) fn has_any(run: &Run) -> bool {
    rows::all_measured(run).any(|result| PATTERNS.contains(&&*result.row.pattern))
}

/// Whether the row is in one of the tables.
pub(crate) fn has_line(result: &RowResult) -> bool {
    GROUPS.iter().any(|group| group.position(result).is_some())
}

/// Returns the columns of these runs with their names: one per placement of a run; none for runs without operations.
pub(crate) fn columns<'a>(runs: &[(&str, &'a Run)]) -> Vec<Column<'a>> {
    let with_operations: Vec<(&str, &'a Run)> = runs.iter().copied().filter(|(_, run)| has_any(run)).collect();
    let names: Vec<&str> = with_operations.iter().map(|(name, _)| *name).collect();
    let is_alone = names.len() < 2;
    let mut columns = Vec::new();
    for (name, (_, run)) in last_parts(&names).into_iter().zip(&with_operations) {
        let all: Vec<&RowResult> = rows::all_measured(run).filter(|result| has_line(result)).collect();
        let placements = rows::placements(run, &all);
        for &placement in &placements {
            let place = rows::placement_words(placement);
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

/// Returns the last part of each name, `up-a` of `published:ltt/up-a`; the whole names if two parts would be equal.
fn last_parts<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let last: Vec<&str> = names.iter().map(|name| name.rsplit('/').next().unwrap_or(name)).collect();
    let is_fit = rows::unique(last.iter().copied()).len() == names.len() && last.iter().all(|part| !part.is_empty());
    if is_fit { last } else { names.to_vec() }
}

/// Returns the placement that all columns share.
pub(crate) fn placement(columns: &[Column<'_>]) -> Option<Placement> {
    let all = columns.iter().flat_map(|column| &column.rows).map(|result| result.row.placement);
    match rows::unique(all)[..] {
        [only] => Some(only),
        _ => None,
    }
}

/// Returns the tables that have lines, in the order of LMbench's reports.
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

/// Identifies a line before it is drawn.
#[derive(Clone, Debug, PartialEq)]
struct Key<'a> {
    /// Its position among the named lines of the group; other lines follow in the order of appearance.
    place: usize,
    subject: &'a str,
    pattern: &'a str,
    size_bytes: Option<u64>,
    is_quiet: bool,
}

/// Returns the lines of a group that some column has.
fn lines<'a>(group: &Group, columns: &[Column<'a>]) -> Vec<Key<'a>> {
    let key = |result: &&'a RowResult| {
        let row = &result.row;
        let is_quiet = !rows::competes(result);
        let place = group.position(result)?;
        Some(Key { place, subject: &row.subject, pattern: &row.pattern, size_bytes: row.size_bytes, is_quiet })
    };
    let mut keys = rows::unique(columns.iter().flat_map(|column| column.rows.iter().filter_map(key)));
    keys.arrange_by_key(|key| (key.is_quiet, key.place));
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

    /// Returns the subject; in a sweep of sizes, with the size.
    fn label(&self) -> String {
        match self.size_bytes {
            Some(bytes) if self.pattern != "rtt" => format!("{} {}", self.subject, units::size(bytes)),
            _ => self.subject.to_owned(),
        }
    }
}

/// Returns the figure to be shown.
fn figure(result: &RowResult, old: bool) -> Option<&MetricResult> {
    let by_lmbench_rule = || rows::metric(result, LMBENCH_VALUE);
    if old { by_lmbench_rule().or_else(|| rows::own(result)) } else { rows::own(result) }
}

#[cfg(test)]
mod tests;
