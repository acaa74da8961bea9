//! The common layout of sections with tables: a title, its definition, and a part for each placement.

use headwater_results::schema::{RowResult, Run};

use crate::rows;
use crate::style::{Style, quiet, strong};
use crate::text::{capital, wrap};

/// Returns a section about `rows`: `body` is called for the rows of each placement. `None` if there are no rows.
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
        let title = format!("{title}{}{}", style.dot(), rows::placement_words(first));
        return Some(format!("{}\n{}", titled(&title, definition, style), body(rows)));
    }
    let parts = placements.iter().map(|&placement| {
        format!(
            "{}\n{}",
            strong(&format!("{}:", capital(rows::placement_words(placement)))),
            body(&rows::at(rows, placement))
        )
    });
    Some(format!("{}\n{}", titled(title, definition, style), parts.collect::<Vec<_>>().join("\n\n")))
}

/// Returns a title and its definition.
pub(super) fn titled(title: &str, definition: &str, style: &Style) -> String {
    format!("{}\n{}", strong(&wrap(title, style.columns(), 0)), quiet(&wrap(definition, style.columns(), 0)))
}

/// Returns a table with a caption.
pub(super) fn captioned(caption: &str, table: &str, style: &Style) -> String {
    format!("{}\n{table}", quiet(&wrap(caption, style.columns(), 0)))
}
