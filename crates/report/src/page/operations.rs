//! Basic operations: the tables of LMbench, a column per run.

use headwater_results::overhead::is_overhead;

use super::Section;
use super::allowance::Allowance;
use super::frame::Page;
use super::table::of_grid;
use crate::chart;
use crate::markup::prose;
use crate::operations::{self, CellFilling};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "operations", title: "Basic operations", draw };

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    // The cost of rows by configuration has a section of its own.
    let runs: Vec<_> = page.source.runs.iter().copied().filter(|(_, run)| !is_overhead(run)).collect();
    let columns = operations::columns(&runs);
    let filling = CellFilling { old: false, spread: &chart::spread, marks: &chart::flags };
    let parts = operations::parts(&columns, &filling);
    if parts.is_empty() {
        return None;
    }
    let mut html = format!("<p class=\"note\">{}</p>\n", prose(operations::DEFINITION));
    for part in parts {
        let table = of_grid(&part.caption, &part.grid) + "\n";
        if !allowance.takes_table(table.len()) {
            html += "<p class=\"note\">Further tables are left out for want of room.</p>\n";
            break;
        }
        html += &table;
    }
    Some(html)
}
