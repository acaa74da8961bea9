//! What every section of tables has: a title, its definition, and a part for each placement.

use headwater_results::schema::{RowResult, Run};

use crate::rows;
use crate::style::{Style, quiet, strong};
use crate::text::{capital, wrap};

/// A section about `rows`: `body` is called for the rows of each placement. `None` if there are no rows.
pub(super) fn framed(
    title: &str,
    definition: &str,
    run: &Run,
    rows: &[&RowResult],
    style: &Style,
    body: impl Fn(&[&RowResult]) -> String,
) -> Option<String> {
    let placements = rows::placements(run, rows);
    let (&first, others) = placements.split_first()?;
    if others.is_empty() {
        let title = format!("{title}{}{}", style.dot(), rows::place(first));
        return Some(format!("{}\n{}", titled(&title, definition, style), body(rows)));
    }
    let parts = placements.iter().map(|&placement| {
        format!("{}\n{}", strong(&format!("{}:", capital(rows::place(placement)))), body(&rows::at(rows, placement)))
    });
    Some(format!("{}\n{}", titled(title, definition, style), parts.collect::<Vec<_>>().join("\n\n")))
}

/// A title and what stands below it.
pub(super) fn titled(title: &str, definition: &str, style: &Style) -> String {
    format!("{}\n{}", strong(&wrap(title, style.columns(), 0)), quiet(&wrap(definition, style.columns(), 0)))
}

/// A table with a line of words above it.
pub(super) fn captioned(caption: &str, table: &str, style: &Style) -> String {
    format!("{}\n{table}", quiet(&wrap(caption, style.columns(), 0)))
}
