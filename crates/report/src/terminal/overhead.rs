//! The cost of tracing, on the terminal.

use headwater_results::overhead::{Overhead, PROBE, is_overhead};

use super::Section;
use super::frame::{captioned, titled};
use super::page::Page;
use crate::overhead::{DEFINITION, TITLE, Table, absent, tables};
use crate::text::wrap;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[PROBE], draw };

fn draw(page: &Page<'_>) -> Option<String> {
    let Page { run, style, .. } = page;
    if !is_overhead(run) {
        return None;
    }
    let overhead = Overhead::of(run);
    let drawn = |table: &Table| {
        let caption = format!("{} {}", table.caption, table.words);
        captioned(caption.trim_end(), &table.grid.draw(style), style)
    };
    let mut texts: Vec<String> = tables(&overhead, run, style.plus_minus()).iter().map(drawn).collect();
    let absent = absent(&overhead);
    texts.extend((!absent.is_empty()).then(|| wrap(&absent.join(" "), style.columns(), 0)));
    Some(format!("{}\n{}", titled(TITLE, DEFINITION, style), texts.join("\n\n")))
}
