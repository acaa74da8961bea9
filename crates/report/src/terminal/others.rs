//! Rows of patterns and facilities without a section of their own: every metric with its interval, one per line.

use headwater_results::schema::{MetricResult, RowResult};

use super::frame::framed;
use super::page::Page;
use super::{Section, TABLE};
use crate::grid::{Cell, Grid, Line};
use crate::rows;
use crate::units;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[], draw };

fn draw(page: &Page<'_>) -> Option<String> {
    let patterns = rows::unique(rows::all_measured(page.run).map(|result| result.row.pattern.as_str()));
    let unclaimed = patterns.into_iter().filter(|pattern| !TABLE.iter().any(|one| one.patterns.contains(pattern)));
    let sections: Vec<String> = unclaimed.filter_map(|pattern| draw_pattern(page, pattern)).collect();
    (!sections.is_empty()).then(|| sections.join("\n\n"))
}

fn draw_pattern(page: &Page<'_>, pattern: &str) -> Option<String> {
    let &Page { run, style, .. } = page;
    let rows = rows::measured(run, pattern);
    let definition = "Median over launches and its interval. Whether higher or lower is better stands beside.";
    framed(&crate::text::capital(pattern), definition, run, &rows, style, |rows| {
        let lines = rows.iter().flat_map(|row| row.metrics.iter().map(|metric| line(row, metric, page)));
        let heads = ["metric", "value", "interval", "better"].map(str::to_owned).into();
        Grid { corner: "row".to_owned(), heads, lines: lines.collect() }.draw(style)
    })
}

fn line(result: &RowResult, metric: &MetricResult, page: &Page<'_>) -> Line {
    let text = |value: f64| units::quantity(value, &metric.metric.unit);
    let estimate = &metric.estimate;
    let interval =
        if estimate.n > 1 { format!("{} .. {}", text(estimate.low), text(estimate.high)) } else { "-".into() };
    let is_own = rows::own(result).is_some_and(|own| own.metric.name == metric.metric.name);
    let value = Cell {
        marks: if is_own { page.marks(&result.flags) } else { String::new() },
        ..Cell::plain(text(estimate.median))
    };
    let better = metric.metric.better.name();
    Line {
        label: label(result),
        is_quiet: !rows::competes(result),
        cells: vec![Cell::plain(&*metric.metric.name), value, Cell::plain(interval), Cell::plain(better)],
    }
}

/// Returns the id without what the section's title contains: the pattern and the placement.
fn label(result: &RowResult) -> String {
    let row = &result.row;
    let parameters = row.id.strip_prefix(&format!("{}/{}/", row.subject, row.pattern));
    match parameters.and_then(|rest| rest.strip_suffix(&format!("/{}", row.placement.name()))) {
        Some(parameters) => format!("{} {parameters}", row.subject),
        None => row.id.clone(),
    }
}
