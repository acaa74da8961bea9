//! Patterns of use beside the kernel's pipe, a table for each placement.

use headwater_results::schema::RowResult;

use super::Section;
use super::cells::spread;
use super::frame::framed;
use super::page::Page;
use crate::operations::CellFilling;
use crate::uses;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &uses::PATTERNS, draw };

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let marks = |result: &RowResult| page.marks(&result.flags);
    let filling = CellFilling { old: false, spread: &|estimate, _| spread(estimate, style), marks: &marks };
    framed(uses::TITLE, uses::DEFINITION, run, &uses::measured(run), style, |rows| {
        uses::grid(rows, &filling).draw(style)
    })
}
