//! The marks of a series: colour class, marker and dash, so that charts are readable in black and white too. Which of
//! them a series has is decided by [`super::family`].

use super::family::Look;
use super::svg::moved;

/// The dash patterns of runs and variants, beginning with a solid line.
const DASHES: [&str; 5] = ["", "7 3", "2 2.5", "9 3 2 3", "5 2 1 2 1 2"];

/// Returns the colour class of a series.
pub(crate) fn class(look: Look) -> String {
    format!("series s{}", look.colour)
}

/// Returns the attributes of the line of a series.
pub(crate) fn stroke(look: Look) -> String {
    let dash = DASHES[look.dash % DASHES.len()];
    let dash = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
    format!(r#"stroke="currentColor"{dash}"#)
}

/// Returns the class of the markers with that number.
pub(crate) fn point_class(shape: usize) -> &'static str {
    if shape.is_multiple_of(super::family::SHAPES) { "point dot" } else { "point" }
}

/// Returns the marker with that number as path data, centred at the given position. A dot is a line of no length with
/// round ends: drawings have thousands of markers.
pub(crate) fn marker(shape: usize, position: (f64, f64)) -> String {
    moved(position) + SHAPES[shape % SHAPES.len()]
}

/// Returns a small drawing of a series for a legend: its marker, and its line where lines of the figure differ in their dash.
pub(crate) fn sample(look: Look, is_dashed: bool) -> String {
    let width = if is_dashed { SAMPLE } else { 12.0 };
    let line = if is_dashed { line_of_sample(look, (0.0, 6.0)) } else { String::new() };
    format!(
        r#"<svg width="{width}" height="12" viewBox="0 0 {width} 12" aria-hidden="true"><g class="{}">{line}<path class="{}" d="{}"/></g></svg>"#,
        class(look),
        point_class(look.shape),
        marker(look.shape, (width / 2.0, 6.0)),
    )
}

/// The length of a line in a legend: whole dashes show on both sides of the marker.
pub(crate) const SAMPLE: f64 = 26.0;

/// Returns the line of a sample that begins at `start`.
pub(crate) fn line_of_sample(look: Look, start: (f64, f64)) -> String {
    format!(r#"<path class="line" d="{}h{SAMPLE}" {}/>"#, moved(start), stroke(look))
}

/// The markers relative to their centres, of about the same area.
const SHAPES: [&str; super::family::SHAPES] = [
    "h0",
    "m-3-3h6v6h-6z",
    "m0-4.2l3.9 7.1h-7.8z",
    "m0-4.4l4.4 4.4l-4.4 4.4l-4.4-4.4z",
    "m0 4.2l3.9-7.1h-7.8z",
    "m-1.4-4h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6v-2.8h2.6z",
    "m0-4.4l4.2 3l-1.6 5h-5.2l-1.6-5z",
];
