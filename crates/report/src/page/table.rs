//! Tables as HTML. Called by sections.

use std::fmt::Write as _;

use crate::grid::{Cell, Grid};
use crate::markup::escape;

/// A table of figures below `caption`, which says unit and direction.
pub(super) fn of_grid(caption: &str, grid: &Grid) -> String {
    let mut html = format!(
        "<table><caption>{}</caption><thead><tr><th scope=\"col\">{}</th>",
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
        let _ = write!(html, "<tr{class}><th scope=\"row\">{}</th>", escape(&line.label));
        html.extend(line.cells.iter().map(cell));
        html += "</tr>";
    }
    scrolled(&(html + "</tbody></table>"))
}

/// In a box of its own that scrolls sideways, reachable by the keyboard.
pub(super) fn scrolled(table: &str) -> String {
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

/// The text in a span behind a space, or nothing.
pub(super) fn spanned(class: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" <span class=\"{class}\">{}</span>", escape(text)) }
}
