//! View (c) of the papers, in bytes as every other figure: bytes per second over message sizes, both logarithmic, so that a fixed cost per message is a
//! straight line and a limited bandwidth is a plateau.

use super::source::{Panel, Source};
use super::value::{self, Kind};
use super::xy::{self, Axis, Plot, Scaled};
use super::{Chart, Figure, scale::Spread, sizes, table, units};
use headwater_results::sorting::Arrange;

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "throughput",
    summary: "bytes/s over message size, log-log",
    needs: "rows of messages/s at two sizes or more",
    draw: |source| sizes::each(source, draw),
};

fn draw(source: &Source<'_>, panel: &Panel<'_>) -> Option<Figure> {
    if Kind::of(panel) != Kind::Rate {
        return None;
    }
    let bytes = |row: &headwater_results::schema::RowResult| {
        let size = row.row.size_bytes.filter(|size| *size > 0)?;
        value::rate(row).map(|rate| value::scaled(&rate, size as f64))
    };
    let text = crate::units::bytes_per_second;
    let traces = sizes::traces(source, panel, |_, row| bytes(row), &text);
    let range = xy::range(&traces, |spot| [spot.low, spot.high]);
    let sizes = sizes::of(&traces)?;
    let notes = sizes::notes(panel, &traces);
    let title = format!("Throughput over message size: {}", panel.name());
    let desc = sizes::desc(&traces, &text);
    let shown: Vec<_> = traces.iter().map(|trace| trace.series).collect();
    let table = table::by_size(&shown, &panel.sizes, &|_, row| bytes(row), &text, true);
    let label = units::prefixed;
    let scaled = |(name, spread, range)| Scaled {
        name,
        x: sizes::axis(Spread::Log2, sizes),
        y: Axis { title: "B/s, higher is better", spread, range, label: &label },
    };
    let mut reaches = sizes::reaches(range);
    // A fixed cost per message is a straight line only on logarithmic axes.
    reaches.arrange_by_key(|(name, ..)| *name != "log");
    let scales = reaches.map(scaled).into();
    let drawings = Plot { title: &title, desc: &desc, scales, traces, reference: None, marks: Vec::new() }.drawings();
    let caption = format!("Size x messages/s, higher is better; 1 GB/s = 10^9 B/s.{notes}");
    let table = table.map(|table| ("B/s, higher is better".to_owned(), table));
    Some(sizes::figure(CHART.name, panel, caption, drawings, table))
}
