//! View (a) of the papers: messages per second over message sizes, doubling from tick to tick.

use super::source::{Panel, Source};
use super::value::{self, Kind};
use super::xy::{self, Axis, Plot, Scaled};
use super::{Chart, Figure, scale::Spread, sizes, table, units};

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "performance",
    summary: "messages/s over message size (log2)",
    needs: "rows of messages/s at two sizes or more",
    draw: |source| sizes::each(source, draw),
};

fn draw(source: &Source<'_>, panel: &Panel<'_>) -> Option<Figure> {
    if Kind::of(panel) != Kind::Rate {
        return None;
    }
    let traces = sizes::traces(source, panel, |_, row| value::rate(row), &crate::units::rate);
    let range = xy::range(&traces, |spot| [spot.low, spot.high]);
    let sizes = sizes::of(&traces)?;
    let notes = sizes::notes(panel, &traces);
    let title = format!("Messages per second over message size: {}", panel.name());
    let desc = sizes::desc(&traces, &|rate| format!("{} messages/s", crate::units::prefixed(rate)));
    let shown: Vec<_> = traces.iter().map(|trace| trace.series).collect();
    let table = table::by_size(&shown, &panel.sizes, &|_, row| value::rate(row), &crate::units::rate, true);
    let scaled = |(name, spread, range)| Scaled {
        name,
        x: sizes::axis(Spread::Log2, sizes),
        y: Axis { title: "messages/s, higher is better", spread, range, label: &units::prefixed },
    };
    let scales = sizes::reaches(range).map(scaled).into();
    let drawings = Plot { title: &title, desc: &desc, scales, traces, reference: None, marks: Vec::new() }.drawings();
    let caption = format!(
        "Messages/s by size, higher is better. A band or a bar is the interval of the median over launches.{notes}"
    );
    let table = table.map(|table| ("messages/s, higher is better".to_owned(), table));
    Some(sizes::figure(CHART.name, panel, caption, drawings, table))
}
