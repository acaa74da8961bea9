//! Basic operations: the tables of LMbench, a column per run.

use headwater_results::schema::{RowResult, Run};

use super::cells::spread;
use super::frame::{captioned, titled};
use super::page::Page;
use super::{Section, ShowOptions};
use crate::operations::{self, CellFilling, Column};
use crate::rows;
use crate::style::Style;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &operations::PATTERNS, draw };

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, options, .. } = page;
    let marks = |result: &RowResult| page.marks(&result.flags);
    drawn(&operations::columns(&[("", run)]), options, &marks, style)
}

/// Returns the tables of several runs side by side, without flags, which each run's own page explains.
pub(super) fn beside(runs: &[(&str, &Run)], options: ShowOptions, style: &Style) -> Option<String> {
    drawn(&operations::columns(runs), options, &|_| String::new(), style)
}

fn drawn(
    columns: &[Column<'_>],
    options: ShowOptions,
    marks: &dyn Fn(&RowResult) -> String,
    style: &Style,
) -> Option<String> {
    let old = options.lmbench_value;
    let filling = CellFilling { old, spread: &|estimate, _| spread(estimate, style), marks };
    let parts = operations::parts(columns, &filling);
    if parts.is_empty() {
        return None;
    }
    let place = operations::placement(columns).map(|place| format!("{}{}", style.dot(), rows::placement_words(place)));
    let title = format!("{}{}", operations::TITLE, place.unwrap_or_default());
    let definition = if old { operations::LMBENCH_RULE_DEFINITION } else { operations::DEFINITION };
    let drawn = parts.iter().map(|part| captioned(&part.caption, &part.grid.draw(style), style));
    Some(format!("{}\n{}", titled(&title, definition, style), drawn.collect::<Vec<_>>().join("\n\n")))
}
