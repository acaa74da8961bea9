//! The distribution of single durations as a quantile plot: each further nine of the percentile has the same length, so
//! that the tail is as readable as the middle.

use headwater_results::schema::{Percentile, RowResult, Standing};
use headwater_results::sorting::Arrange;

use super::base::Reference;
use super::scale::Spread;
use super::source::{Panel, Series, Source};
use super::xy::{self, Axis, Plot, Point, Scaled, Trace};
use super::{Chart, FIGURES_MAX, Figure, Reading, SERIES_MAX, emphasis, sizes, units};
use crate::grid::{Cell, Grid, Line};
use crate::rows;

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "distribution",
    summary: "durations by percentile, each nine the same length",
    needs: "rows of single durations, as of the patterns rtt and wake",
    draw,
};

/// The percentiles of the table.
const SHOWN: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

fn draw(source: &Source<'_>) -> Vec<Figure> {
    let base = source.base.as_ref();
    let of_panel = |panel: &Panel<'_>| {
        let with = panel.rows().filter(|row| of(row).is_some());
        let sizes = rows::unique(with.map(|row| row.row.size_bytes));
        sizes.into_iter().filter_map(|size| figure(panel, size, base)).collect::<Vec<_>>()
    };
    source.panels.iter().flat_map(of_panel).take(FIGURES_MAX).collect()
}

/// Returns the percentiles of the row's own metric, or of the only metric that has percentiles.
fn of(row: &RowResult) -> Option<(&str, &[Percentile])> {
    let own = rows::own(row).and_then(|own| row.percentiles.get_key_value(&own.metric.name));
    let (name, percentiles) = own.or_else(|| row.percentiles.iter().next())?;
    (percentiles.len() > 1).then_some((name, percentiles))
}

fn figure(panel: &Panel<'_>, size: Option<u64>, base: Option<&Reference<'_>>) -> Option<Figure> {
    let first = emphasis::at_first(panel, base);
    let trace = |(place, series)| trace(series, size, first.contains(&place));
    let mut traces: Vec<Trace<'_>> = panel.series.iter().enumerate().filter_map(trace).collect();
    traces.arrange_by_key(|trace| !trace.is_first);
    traces.truncate(SERIES_MAX);
    let (low, high) = xy::range(&traces, |spot| [spot.y, spot.y]);
    let (first, last) = xy::range(&traces, |spot| [spot.x, spot.x]);
    if !(low <= high && first < last) {
        return None;
    }
    let metric = panel.rows().find_map(of).map_or("duration", |(name, _)| match name {
        "one_way" => "one-way",
        other => other,
    });
    let at = size.map(|size| format!(", {}", crate::units::size_in_words(size))).unwrap_or_default();
    let heading = format!("{}{at}", panel.name());
    let table = table(&traces);
    let desc =
        format!("{} lines from percentile {first} to percentile {last}; the table has their values.", traces.len());
    let y_title = format!("{metric}, lower is better");
    let scaled = |(name, spread, range)| Scaled {
        name,
        x: Axis {
            title: "percentile (each nine the same length)",
            spread: Spread::Percentile,
            range: (0.0, last),
            label: &units::percentile,
        },
        y: Axis { title: &y_title, spread, range, label: &units::duration_ns },
    };
    let mut reaches = sizes::reaches((low, high));
    // A tail is seldom visible on a linear axis.
    reaches.arrange_by_key(|(name, ..)| *name != "log");
    let title = format!("Distribution of {metric}: {heading}");
    let scales = reaches.map(scaled).into();
    let drawings = Plot { title: &title, desc: &desc, scales, traces, reference: None, marks: Vec::new() }.drawings();
    let caption = format!(
        "Single durations ({metric}) of all launches, lower is better. A closed loop: the next exchange starts when the last \
         has ended. A percentile is drawn only with enough samples beyond it."
    );
    let table = Some((format!("{metric} by percentile, lower is better"), table));
    let data = size.map(|size| ("size", size.to_string())).into_iter().collect();
    Some(Figure { heading, data, ..sizes::figure(CHART.name, panel, caption, drawings, table) })
}

/// Returns the percentiles of the series' row of that size.
fn trace<'a>(series: &'a Series<'a>, size: Option<u64>, is_first: bool) -> Option<Trace<'a>> {
    if series.standing == Standing::Null {
        return None;
    }
    let row = series.rows.iter().copied().find(|row| row.row.size_bytes == size && of(row).is_some())?;
    let (_, percentiles) = of(row)?;
    let point = |one: &Percentile| {
        let lines = vec![
            series.label.clone(),
            crate::units::duration_ns(one.value_ns),
            format!("{} took at most this long", units::percentile(one.percent)),
        ];
        let reading = Reading { lines, flags: super::flags(row) };
        Point { x: one.percent, y: one.value_ns, low: one.value_ns, high: one.value_ns, reading }
    };
    let drawable = percentiles.iter().filter(|one| one.value_ns > 0.0 && one.percent < 100.0);
    let spots: Vec<Point> = drawable.map(point).collect();
    let (fits, knees) = (Vec::new(), Vec::new());
    (!spots.is_empty()).then_some(Trace { series, spots, fits, knees, is_first })
}

fn table(traces: &[Trace<'_>]) -> Grid {
    let line = |trace: &Trace<'_>| Line {
        label: trace.series.label.clone(),
        is_quiet: !trace.series.rows.iter().any(|row| rows::competes(row)),
        cells: SHOWN
            .iter()
            .map(|percent| {
                let spot = trace.spots.iter().find(|spot| (spot.x - percent).abs() < 1e-9);
                Cell::plain(spot.map_or_else(String::new, |spot| crate::units::duration_ns(spot.y)))
            })
            .collect(),
    };
    Grid {
        corner: "percentile".to_owned(),
        heads: SHOWN.iter().map(|percent| units::percentile(*percent)).collect(),
        lines: traces.iter().map(line).collect(),
    }
}
