//! The patterns whose figure is a rate of messages over their size: `stream`, `stream-full`, `single`.

use headwater_results::schema::{RowResult, Standing};

use super::Section;
use super::cells::{by_size, own, padded_rate};
use super::frame::{captioned, framed};
use super::page::Page;
use crate::grid::Cell;
use crate::rows;
use crate::units;

/// From this size on, bytes per second are shown too.
const BYTES_FROM: u64 = 4096;

/// `stream`, the entry in the table of sections.
pub(super) const STREAM: Section = Section {
    patterns: &["stream"],
    draw: |page| {
        let definition = "One send call per message, reads of the same size. Messages/s by size, higher is better.";
        draw(page, "stream", "One way (stream, one_way)", definition)
    },
};

/// `stream-full`, the entry in the table of sections.
pub(super) const STREAM_FULL: Section = Section {
    patterns: &["stream-full"],
    draw: |page| {
        let definition = "One send call per message, reads of up to 64 KiB. Messages/s by size, higher is better.";
        draw(page, "stream-full", "One way with full reads (stream-full, one_way)", definition)
    },
};

/// `single`, the entry in the table of sections.
pub(super) const SINGLE: Section = Section {
    patterns: &["single"],
    draw: |page| {
        let definition = "One process sends until it is full, then reads until it is empty: no wake-up, no switch. \
                          Messages/s by size, higher is better.";
        draw(page, "single", "One way within one process (single, one_way)", definition)
    },
};

fn draw(page: &Page<'_>, pattern: &str, title: &str, definition: &str) -> Option<String> {
    let &Page { run, style, .. } = page;
    let rows = rows::measured(run, pattern);
    framed(title, definition, run, &rows, style, |rows| {
        let messages = by_size(rows, |row, best| own(row, padded_rate, best, page));
        let mut text = messages.draw_either_way("size", style);
        let large: Vec<&RowResult> = rows.iter().copied().filter(|row| shows_bytes(row)).collect();
        if !large.is_empty() {
            let bytes = by_size(&large, |row, best| own_bytes(row, best, page));
            let bytes = bytes.draw_either_way("size", style);
            text += &format!("\n\n{}", captioned("The same in MB/s (1 MB = 10^6 bytes):", &bytes, style));
        }
        text
    })
}

/// Whether bytes per second have a meaning: for large messages of a transport that moves them.
fn shows_bytes(result: &RowResult) -> bool {
    result.row.standing != Standing::Null && result.row.size_bytes.is_some_and(|size| size >= BYTES_FROM)
}

/// Returns the same figure in MB/s; its interval and marks are in the other table.
fn own_bytes(result: &RowResult, best: &[&RowResult], page: &Page<'_>) -> Cell {
    let size = result.row.size_bytes.unwrap_or(0) as f64;
    let cell = own(result, |rate| units::significant_grouped(rate * size / 1e6), best, page);
    Cell { spread: String::new(), marks: String::new(), ..cell }
}
