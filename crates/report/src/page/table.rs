//! Tables as HTML. Called by sections.

use std::fmt::Write as _;

use crate::grid::{Cell, Grid};
use crate::markup::{escape, whole};

/// Returns a table of figures below `caption`, which contains unit and direction.
pub(super) fn of_grid(caption: &str, grid: &Grid) -> String {
    let mut html = format!(
        "<table><caption>{}</caption>\n<thead><tr><th scope=\"col\">{}</th>",
        escape(caption),
        escape(&grid.corner)
    );
    for head in &grid.heads {
        // Writing to a String cannot fail.
        let _ = write!(html, "<th scope=\"col\" class=\"num\">{}</th>", escape(head));
    }
    html += "</tr></thead><tbody>";
    for line in &grid.lines {
        let class = if line.is_quiet { " class=\"quiet\"" } else { "" };
        let _ = write!(html, "<tr{class}><th scope=\"row\">{}</th>", whole(&line.label));
        html.extend(line.cells.iter().map(cell));
        html += "</tr>";
    }
    scrolled(&(html + "</tbody></table>"))
}

/// Wraps a table in an element that scrolls horizontally and can be reached by the keyboard.
pub(super) fn scrolled(table: &str) -> String {
    // A line break separates the cells where the table is read as text.
    let table = table.replace("</th><", "</th>\n<").replace("</td><", "</td>\n<");
    format!("<div class=\"scroll\" tabindex=\"0\">{table}</div>")
}

fn cell(cell: &Cell) -> String {
    let class = if cell.is_best { "num best" } else { "num" };
    format!(
        "<td class=\"{class}\">{}{}{}</td>",
        escape(&cell.value),
        spanned("spread", &cell.spread),
        spanned("flags", &cell.marks)
    )
}

/// Returns the text in a span preceded by a space, or an empty text.
pub(super) fn spanned(class: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" <span class=\"{class}\">{}</span>", escape(text)) }
}
