//! The data as an element of the page: plain where it is small, deflated where it is not, and cut in stated steps where
//! there is no room for all of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::data::{Extent, data};
use super::frame::Page;
use crate::markup::escape;
use crate::units;

/// From this size on the data is deflated.
const PLAIN_MAX: usize = 300_000;

/// Compression level of zlib's scale: higher ones take several times as long for a few percent.
const LEVEL: u8 = 6;

/// The element, and a paragraph that says what it lacks.
#[derive(Debug)]
pub(super) struct Payload {
    pub element: String,
    pub note: String,
}

/// The data of `page` in at most `room` bytes.
pub(super) fn element(page: &Page<'_>, room: usize) -> Payload {
    let rows = page.source.runs.iter().map(|(_, run)| crate::rows::all_measured(run).count()).sum();
    for (extent, lack) in steps(rows) {
        let note = lack.as_deref().map(|lack| {
            format!("To keep this file below 1.5 MB it leaves out {lack}. The run itself has all; `report --filter` makes a page of fewer rows.")
        });
        // A document of strings and numbers can always be written.
        let Ok(json) = serde_json::to_string(&data(page, extent, note.as_deref())) else { continue };
        let element = wrapped(&json);
        let note = note.map(|note| format!("<p class=\"note shortened\">{}</p>\n", escape(&note))).unwrap_or_default();
        if element.len() + note.len() <= room {
            return Payload { element, note };
        }
    }
    let note = "<p class=\"note shortened\">There is no room for the data of the script.</p>\n".to_owned();
    Payload { element: String::new(), note }
}

/// What may be left out, step by step, and the words for it.
fn steps(rows: usize) -> impl Iterator<Item = (Extent, Option<String>)> {
    let all = Extent { all_metrics: true, percentiles: true, residuals: true, rows_max: usize::MAX };
    let wholes = [
        (all, None),
        (Extent { residuals: false, ..all }, Some("the residuals of the fitted lines".to_owned())),
        (
            Extent { residuals: false, all_metrics: false, ..all },
            Some("the residuals of the fitted lines and all metrics but each row's own".to_owned()),
        ),
    ];
    let parts = (0..24).map(move |step| {
        // Each step keeps three quarters of the one before.
        let rows_max = (rows as f64 * 0.75f64.powi(step)) as usize;
        let extent = Extent { all_metrics: false, percentiles: false, residuals: false, rows_max };
        let cut = if rows_max < rows {
            format!(
                ", and all rows after the first {} of {}",
                units::grouped(rows_max as f64),
                units::grouped(rows as f64)
            )
        } else {
            String::new()
        };
        let lack = format!("residuals, percentiles, all metrics but each row's own{cut}, for its script");
        (extent, Some(lack))
    });
    wholes.into_iter().chain(parts)
}

/// The element. Nothing in it can end it: JSON has its `<` written as escapes, base64 has none.
fn wrapped(json: &str) -> String {
    if json.len() <= PLAIN_MAX {
        let json = json.replace('<', "\\u003c");
        return format!("<script type=\"application/json\" id=\"headwater-data\">{json}</script>");
    }
    let deflated = miniz_oxide::deflate::compress_to_vec(json.as_bytes(), LEVEL);
    format!(
        "<script type=\"application/octet-stream\" id=\"headwater-data\" data-encoding=\"deflate-raw-base64\">{}</script>",
        STANDARD.encode(deflated)
    )
}

#[cfg(test)]
mod tests;
