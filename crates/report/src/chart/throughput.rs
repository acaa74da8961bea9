//! View (c) of the papers: bits per second over message sizes, both logarithmic, so that a fixed cost per message is a
//! straight line and a limited bandwidth is a plateau.

use super::source::{Panel, Source};
use super::value::{self, Kind};
use super::xy::{self, Axis, Plot, Scaled};
use super::{Chart, Figure, scale::Spread, sizes, table, units};
use headwater_results::sorting::Arrange;

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "throughput",
    summary: "bits/s over message size, log-log",
    needs: "rows of messages/s at two sizes or more",
    draw: |source| sizes::each(source, draw),
};

fn draw(source: &Source<'_>, panel: &Panel<'_>) -> Option<Figure> {
    if Kind::of(panel) != Kind::Rate {
        return None;
    }
    let bits = |row: &headwater_results::schema::RowResult| {
        let size = row.row.size_bytes.filter(|size| *size > 0)?;
        value::rate(row).map(|rate| value::scaled(&rate, 8.0 * size as f64))
    };
    let text = |bits: f64| format!("{}bit/s", spaced(&crate::units::prefixed(bits)));
    let traces = sizes::traces(source, panel, |_, row| bits(row), &text);
    let range = xy::range(&traces, |spot| [spot.low, spot.high]);
    let sizes = sizes::of(&traces)?;
    let notes = sizes::notes(panel, &traces);
    let title = format!("Throughput over message size: {}", panel.name());
    let desc = sizes::desc(&traces, &text);
    let shown: Vec<_> = traces.iter().map(|trace| trace.series).collect();
    let table = table::by_size(&shown, &panel.sizes, &|_, row| bits(row), &text, true);
    let label = |bits: f64| spaced(&units::prefixed(bits)).trim_end().to_owned();
    let scaled = |(name, spread, range)| Scaled {
        name,
        x: sizes::axis(Spread::Log2, sizes),
        y: Axis { title: "bit/s, higher is better", spread, range, label: &label },
    };
    let mut reaches = sizes::reaches(range);
    // A fixed cost per message is a straight line only on logarithmic axes.
    reaches.arrange_by_key(|(name, ..)| *name != "log");
    let scales = reaches.map(scaled).into();
    let drawings = Plot { title: &title, desc: &desc, scales, traces, reference: None, marks: Vec::new() }.drawings();
    let caption = format!("8 x size x messages/s, higher is better; 1 Gbit/s = 10^9 bit/s.{notes}");
    let table = table.map(|table| ("bit/s, higher is better".to_owned(), table));
    Some(sizes::figure(CHART.name, panel, caption, drawings, table))
}

/// Separates prefix and unit by one space: `1.5 G` and `1.5 ` both precede `bit/s`.
fn spaced(prefixed: &str) -> String {
    if prefixed.contains(' ') { prefixed.to_owned() } else { format!("{prefixed} ") }
}
