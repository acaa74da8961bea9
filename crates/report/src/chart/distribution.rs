//! The distribution of single durations as a quantile plot: each further nine of the percentile has the same length, so
//! that the tail is as readable as the middle.

use headwater_results::schema::{RowResult, Standing};

use super::scale::Spread;
use super::source::{Panel, Source};
use super::xy::{self, Axis, Plot, Point, Trace};
use super::{Chart, FIGURES_MAX, Figure, SERIES_MAX, sizes, units};
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
    let of_panel = |panel: &Panel<'_>| {
        let with = panel.rows().filter(|row| of(row).is_some());
        let sizes = rows::unique(with.map(|row| row.row.size_bytes));
        sizes.into_iter().filter_map(|size| figure(panel, size)).collect::<Vec<_>>()
    };
    source.panels.iter().flat_map(of_panel).take(FIGURES_MAX).collect()
}

/// Returns the percentiles of the row's own metric, or of the only metric that has percentiles.
fn of(row: &RowResult) -> Option<(&str, &[headwater_results::schema::Percentile])> {
    let own = rows::own(row).and_then(|own| row.percentiles.get_key_value(&own.metric.name));
    let (name, percentiles) = own.or_else(|| row.percentiles.iter().next())?;
    (percentiles.len() > 1).then_some((name, percentiles))
}

fn figure(panel: &Panel<'_>, size: Option<u64>) -> Option<Figure> {
    let row_of = |series: &super::source::Series<'_>| {
        series.rows.iter().copied().find(|row| row.row.size_bytes == size && of(row).is_some()).map(std::ptr::from_ref)
    };
    let shown = panel.series.iter().filter(|series| row_of(series).is_some());
    let traces: Vec<Trace<'_>> =
        shown
            .filter(|series| series.standing != Standing::Null)
            .take(SERIES_MAX)
            .filter_map(|series| {
                let row = series.rows.iter().copied().find(|row| row.row.size_bytes == size && of(row).is_some())?;
                let (_, percentiles) = of(row)?;
                let spots = percentiles
                    .iter()
                    .filter(|one| one.value_ns > 0.0 && one.percent < 100.0)
                    .map(|one| Point { x: one.percent, y: one.value_ns, low: one.value_ns, high: one.value_ns });
                Some(Trace { series, spots: spots.collect(), fits: Vec::new(), knees: Vec::new() })
            })
            .filter(|trace| !trace.spots.is_empty())
            .collect();
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
    let drawing = Plot {
        title: &format!("Distribution of {metric}: {heading}"),
        desc: &desc,
        x: Axis {
            title: "percentile (each nine the same length)",
            spread: Spread::Percentile,
            range: (0.0, last),
            label: &units::percentile,
        },
        y: Axis {
            title: &format!("{metric} (logarithmic), lower is better"),
            spread: Spread::Log10,
            range: (low / 1.2, high * 1.2),
            label: &units::duration_ns,
        },
        traces,
        reference: None,
    }
    .draw();
    let caption = format!(
        "Single durations ({metric}) of all launches, lower is better. A closed loop: the next exchange starts when the last \
         has ended. A percentile is drawn only with enough samples beyond it."
    );
    let mut data = vec![("x", "percentile".to_owned()), ("y", "log".to_owned())];
    data.extend(size.map(|size| ("size", size.to_string())));
    Some(Figure {
        heading,
        ..sizes::figure(
            CHART.name,
            panel,
            caption,
            data,
            drawing,
            Some((format!("{metric} by percentile, lower is better"), table)),
        )
    })
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
