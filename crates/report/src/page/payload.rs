//! The data as an element of the page: plain if it is small, compressed if not, and reduced in a defined order if it
//! does not fit.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use headwater_results::foreign::printable;

use super::data::{DataLimits, data};
use super::frame::Page;
use crate::markup::prose;
use crate::units;

/// From this size on, the data is compressed.
const PLAIN_MAX: usize = 300_000;

/// Compression level of zlib: higher levels take several times as long for a few percent.
const LEVEL: u8 = 4;

/// The element, and a paragraph about what it lacks.
#[derive(Debug)]
pub(super) struct Payload {
    pub element: String,
    pub note: String,
}

/// Returns the data of `page` in at most `room` bytes.
pub(super) fn element(page: &Page<'_>, room: usize) -> Payload {
    let mut bytes = 0;
    for (extent, lack) in steps_with_all_rows(page) {
        match attempt(page, extent, lack, room) {
            Ok(payload) => return payload,
            Err(needed) => bytes = needed,
        }
    }
    let all = row_count(page);
    let mut rows_max = all;
    for _ in 0..CUTS_MAX {
        // The size of the data grows a little slower than the number of rows, because names repeat.
        rows_max = (rows_max as f64 * (room as f64 / bytes.max(1) as f64) * 0.97) as usize;
        let extent = DataLimits { all_metrics: false, rows_max };
        let lack = format!(
            "all metrics but each row's own, and all rows after the first {} of {} from what its script can show",
            units::grouped(rows_max as f64),
            units::grouped(all as f64)
        );
        match attempt(page, extent, Some(lack), room) {
            Ok(payload) => return payload,
            Err(needed) => bytes = needed,
        }
    }
    let note = "<p class=\"note shortened\">There is no room for the data of the script.</p>\n".to_owned();
    Payload { element: String::new(), note }
}

/// How often the number of rows is reduced before the data is omitted. Each reduction aims at the available room, so
/// few are needed.
const CUTS_MAX: usize = 6;

/// Returns the limits that keep all rows, from complete to minimal, each with what it leaves out. Steps that would
/// leave out nothing are omitted.
fn steps_with_all_rows(page: &Page<'_>) -> Vec<(DataLimits, Option<String>)> {
    let mut measured = page.source.runs.iter().flat_map(|(_, run)| crate::rows::all_measured(run));
    let all = DataLimits { all_metrics: true, rows_max: usize::MAX };
    let mut extents = vec![(all, None)];
    if measured.any(|row| row.metrics.len() > 1) {
        let lack = "all metrics but each row's own from what its script can show";
        extents.push((DataLimits { all_metrics: false, ..all }, Some(lack.to_owned())));
    }
    extents
}

fn row_count(page: &Page<'_>) -> usize {
    page.source.runs.iter().map(|(_, run)| crate::rows::all_measured(run).count()).sum()
}

/// Returns the payload within these limits, or the number of bytes that it would need.
fn attempt(page: &Page<'_>, extent: DataLimits, lack: Option<String>, room: usize) -> Result<Payload, usize> {
    let note = lack.map(|lack| {
        format!(
            "To stay below 1.5 MB this file leaves out {lack}. The run itself has all; `headwater report --filter` makes a \
             page of fewer rows."
        )
    });
    // Strings and numbers can always be serialised.
    let Ok(json) = serde_json::to_string(&data(page, extent, note.as_deref())) else { return Err(usize::MAX) };
    let element = wrapped(&printable(&json));
    let note = note.map(|note| format!("<p class=\"note shortened\">{}</p>\n", prose(&note))).unwrap_or_default();
    let bytes = element.len() + note.len();
    if bytes <= room { Ok(Payload { element, note }) } else { Err(bytes) }
}

/// Returns the element. The contents cannot end it: in JSON `<` is escaped, and base64 does not contain it.
fn wrapped(json: &str) -> String {
    if json.len() <= PLAIN_MAX {
        let json = json.replace('<', "\\u003c");
        return format!("<script type=\"application/json\" id=\"headwater-data\">{json}</script>");
    }
    compressed("headwater-data", json)
}

/// Returns JSON as a compressed element.
pub(super) fn compressed(id: &str, json: &str) -> String {
    let deflated = miniz_oxide::deflate::compress_to_vec(json.as_bytes(), LEVEL);
    format!(
        "<script type=\"application/octet-stream\" id=\"{id}\" data-encoding=\"deflate-raw-base64\">{}</script>",
        STANDARD.encode(deflated)
    )
}

#[cfg(test)]
mod tests;
