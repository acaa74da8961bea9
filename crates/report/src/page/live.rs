//! What the page's script shows of the figures: the words about each point, and the drawings on other scales. The script
//! draws and computes nothing: where this element is missing, each figure stays as it is.

use serde::Serialize;

use super::payload::compressed;
use crate::chart::{self, Figure};

/// Bytes of the element. Figures after those that fit stay as they are.
const BYTES_MAX: usize = 400_000;

#[derive(Serialize)]
struct Live {
    version: u32,
    figures: Vec<LiveFigure>,
}

#[derive(Serialize)]
struct LiveFigure {
    number: usize,
    /// The name of the scale in the markup.
    scale: &'static str,
    /// The drawings on other scales, wide and narrow.
    others: Vec<(&'static str, [String; 2])>,
    lines: Vec<LiveLine>,
}

#[derive(Serialize)]
struct LiveLine {
    name: String,
    /// A small drawing of it.
    sample: String,
    is_first: bool,
    /// The words about each point, a line each; and the letters of its flags.
    points: Vec<(String, String)>,
}

/// Returns the element about figures in at most `room` bytes, or nothing.
pub(super) fn element(mut figures: Vec<&Figure>, room: usize) -> String {
    figures.retain(|figure| !figure.drawings.lines.is_empty());
    let mut count = figures.len();
    while count > 0 {
        let live = Live { version: 2, figures: figures.iter().take(count).map(|figure| of_figure(figure)).collect() };
        // Strings and numbers can always be serialised.
        let Ok(json) = serde_json::to_string(&live) else { return String::new() };
        let element = compressed("headwater-figures", &json);
        if element.len() <= room.min(BYTES_MAX) {
            return element;
        }
        let share = room.min(BYTES_MAX) as f64 / element.len() as f64;
        count = ((count as f64 * share) as usize).min(count - 1);
    }
    String::new()
}

fn of_figure(figure: &Figure) -> LiveFigure {
    let drawings = &figure.drawings;
    let other = |(name, [wide, narrow]): &(&'static str, [chart::Drawing; 2])| {
        (*name, [wide.inline("wide"), narrow.inline("narrow")])
    };
    let is_dashed = drawings.lines.iter().any(|line| line.look.dash > 0);
    let line = |line: &chart::Line| LiveLine {
        name: line.name.clone(),
        sample: chart::sample(line.look, is_dashed),
        is_first: line.is_first,
        points: line.readings.iter().map(|reading| (reading.lines.join("\n"), reading.flags.clone())).collect(),
    };
    LiveFigure {
        number: figure.number,
        scale: drawings.scales[0].0,
        others: drawings.scales.iter().skip(1).map(other).collect(),
        lines: drawings.lines.iter().map(line).collect(),
    }
}
