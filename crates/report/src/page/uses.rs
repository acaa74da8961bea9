//! Patterns of use beside the kernel's pipe, a table for each run and placement.

use super::Section;
use super::allowance::Allowance;
use super::frame::Page;
use super::table::of_grid;
use crate::markup::prose;
use crate::operations::CellFilling;
use crate::{chart, rows, text, uses};

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { id: "use", title: uses::TITLE, draw };

fn draw(page: &Page<'_>, allowance: &mut Allowance) -> Option<String> {
    let filling = CellFilling { old: false, spread: &chart::spread, marks: &chart::flags };
    let mut html = String::new();
    for (name, run) in &page.source.runs {
        let measured = uses::measured(run);
        for placement in rows::placements(run, &measured) {
            let place = text::capital(rows::placement_words(placement));
            let caption = if page.has_several() { format!("{name}: {place}") } else { place };
            let table = of_grid(&caption, &uses::grid(&rows::at(&measured, placement), &filling)) + "\n";
            if !allowance.takes_table(table.len()) {
                html += "<p class=\"note\">Further tables are left out for want of room.</p>\n";
                break;
            }
            html += &table;
        }
    }
    (!html.is_empty()).then(|| format!("<p class=\"note\">{}</p>\n{html}", prose(uses::DEFINITION)))
}
