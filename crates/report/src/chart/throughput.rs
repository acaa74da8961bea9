//! View (c) of the papers: bits per second over message sizes, both logarithmic, so that a fixed cost per message is a
//! straight line and a limited bandwidth is a plateau.

use super::source::{Panel, Source};
use super::value::{self, Kind};
use super::xy::{self, Axis, Plot};
use super::{Chart, Figure, scale::Spread, sizes, table, units};

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "throughput",
    summary: "bits/s over message size, log-log",
    needs: "rows of messages/s at two sizes or more",
    draw: |source| sizes::each(source, draw),
};

fn draw(_: &Source<'_>, panel: &Panel<'_>) -> Option<Figure> {
    if Kind::of(panel) != Kind::Rate {
        return None;
    }
    let bits = |row: &headwater_results::schema::RowResult| {
        let size = row.row.size_bytes.filter(|size| *size > 0)?;
        value::rate(row).map(|rate| value::scaled(&rate, 8.0 * size as f64))
    };
    let traces = sizes::traces(panel, |_, row| bits(row));
    let range = xy::range(&traces, |spot| [spot.low, spot.high]);
    let sizes = sizes::of(&traces)?;
    let notes = sizes::notes(panel, &traces);
    let title = format!("Throughput over message size: {}", panel.name());
    let text = |bits: f64| format!("{}bit/s", spaced(&crate::units::prefixed(bits)));
    let desc = sizes::desc(&traces, &text);
    let shown: Vec<_> = traces.iter().map(|trace| trace.series).collect();
    let table = table::by_size(&shown, &panel.sizes, &|_, row| bits(row), &text, true);
    let drawing = Plot {
        title: &title,
        desc: &desc,
        x: Axis { title: "message size, bytes (logarithmic)", spread: Spread::Log2, range: sizes, label: &units::size },
        y: Axis {
            title: "bit/s (logarithmic), higher is better",
            spread: Spread::Log10,
            range: (range.0 / 1.2, range.1 * 1.2),
            label: &|bits| spaced(&units::prefixed(bits)).trim_end().to_owned(),
        },
        traces,
        reference: None,
    }
    .draw();
    let caption = format!("8 x size x messages/s, higher is better; 1 Gbit/s = 10^9 bit/s.{notes}");
    let data = vec![("x", "log".to_owned()), ("y", "log".to_owned())];
    Some(sizes::figure(
        CHART.name,
        panel,
        caption,
        data,
        drawing,
        table.map(|table| ("bit/s, higher is better".to_owned(), table)),
    ))
}

/// Separates prefix and unit by one space: `1.5 G` and `1.5 ` both precede `bit/s`.
fn spaced(prefixed: &str) -> String {
    if prefixed.contains(' ') { prefixed.to_owned() } else { format!("{prefixed} ") }
}
