//! Shared by the charts over message sizes: their traces, the ends of their axes, their texts.

use headwater_results::estimate::Estimate;
use headwater_results::schema::{RowResult, Standing};

use super::scale::{Scale, Spread};
use super::source::{Panel, Series, Source};
use super::xy::{self, Point, Trace};
use super::{Drawing, FIGURES_MAX, Figure, SERIES_MAX};
use crate::grid::Grid;
use crate::text::{plural, short_list};
use crate::{rows, units};

/// From this ratio of the largest to the smallest value on, a logarithmic axis is used instead of one from zero.
const LOGARITHM_FROM: f64 = 40.0;

/// Draws a figure for each panel that `draw` can show.
pub(super) fn each(source: &Source<'_>, draw: fn(&Source<'_>, &Panel<'_>) -> Option<Figure>) -> Vec<Figure> {
    let panels = source.panels.iter().filter(|panel| panel.sizes.len() > 1);
    panels.filter_map(|panel| draw(source, panel)).take(FIGURES_MAX).collect()
}

/// Returns a trace for each series with values from `value`. The null transport is included only if there is nothing
/// else.
pub(super) fn traces<'a>(
    panel: &'a Panel<'a>,
    value: impl Fn(&Series<'a>, &RowResult) -> Option<Estimate>,
) -> Vec<Trace<'a>> {
    let shown: Vec<&Series<'_>> = panel.series.iter().filter(|series| series.standing != Standing::Null).collect();
    let shown = if shown.is_empty() { panel.series.iter().collect() } else { shown };
    let trace = |series: &'a Series<'a>| {
        let spots = series.rows.iter().filter_map(|row| {
            let estimate = value(series, row)?;
            let x = row.row.size_bytes? as f64;
            Some(Point { x, y: estimate.median, low: estimate.low, high: estimate.high })
        });
        Trace { series, spots: spots.collect(), fits: Vec::new(), knees: Vec::new() }
    };
    shown.into_iter().map(trace).filter(|trace| !trace.spots.is_empty()).take(SERIES_MAX).collect()
}

/// Returns the ends of a logarithmic axis of sizes; `None` without a size to draw.
pub(super) fn of(traces: &[Trace<'_>]) -> Option<(f64, f64)> {
    let (low, high) = xy::range(traces, |spot| [spot.x, spot.x]);
    // A logarithmic axis begins at one byte or above.
    (low <= high).then_some((low.max(1.0), high.max(1.0)))
}

/// Chooses a linear axis from zero for values close to each other, else a logarithmic one. Returns it with its ends.
pub(super) fn reach((low, high): (f64, f64)) -> (Spread, (f64, f64)) {
    if high / low.max(f64::MIN_POSITIVE) < LOGARITHM_FROM {
        (Spread::Linear, Scale::rounded(Spread::Linear, (0.0, high), 7))
    } else {
        (Spread::Log10, (low / 1.2, high * 1.2))
    }
}

/// Returns the name of a spread in the page's script.
pub(super) fn word(spread: Spread) -> String {
    match spread {
        Spread::Linear | Spread::LinearSize => "linear".to_owned(),
        _ => "log".to_owned(),
    }
}

/// Returns sentences about what a chart leaves out, each preceded by a space.
pub(super) fn notes(panel: &Panel<'_>, traces: &[Trace<'_>]) -> String {
    let mut notes = String::new();
    let drawn = |series: &Series<'_>| traces.iter().any(|trace| trace.series.key == series.key);
    let left: Vec<&Series<'_>> = panel.series.iter().filter(|series| !drawn(series)).collect();
    let nulls: Vec<&str> =
        rows::unique(left.iter().filter(|series| series.standing == Standing::Null).map(|series| series.key.subject));
    if !nulls.is_empty() {
        notes += &format!(" {}, the harness alone, is only in the table of rows.", short_list(&nulls, 3));
    }
    let others = left.iter().filter(|series| series.standing != Standing::Null).count();
    if others > 0 && traces.len() == SERIES_MAX {
        notes +=
            &format!(" {} more are only in the table of rows.", plural(others, "series").replace("seriess", "series"));
    }
    if xy::is_thinned(traces) {
        notes += " Lines are drawn through some of their sizes; the table of rows has all.";
    }
    notes
}

/// Describes the values at the largest size in words, for readers who cannot see the lines.
pub(super) fn desc(traces: &[Trace<'_>], text: &dyn Fn(f64) -> String) -> String {
    const NAMED: usize = 8;
    let Some(most) = traces.iter().flat_map(|trace| trace.spots.last()).map(|spot| spot.x as u64).max() else {
        return String::new();
    };
    let mut last: Vec<(&str, f64)> = traces
        .iter()
        .filter_map(|trace| trace.spots.last().map(|spot| (trace, spot)))
        .filter(|(_, spot)| spot.x as u64 == most)
        .map(|(trace, spot)| (trace.series.label.as_str(), spot.y))
        .collect();
    last.sort_by(|one, other| other.1.total_cmp(&one.1));
    let named: Vec<String> = last.iter().map(|(label, value)| format!("{label} {}", text(*value))).collect();
    format!("{} lines. At {}: {}.", traces.len(), units::size_in_words(most), short_list(&named, NAMED))
}

/// Returns the figure for a panel.
pub(super) fn figure(
    view: &'static str,
    panel: &Panel<'_>,
    caption: String,
    data: Vec<(&'static str, String)>,
    drawing: Drawing,
    table: Option<(String, Grid)>,
) -> Figure {
    Figure {
        view,
        pattern: panel.pattern.to_owned(),
        placement: Some(panel.placement),
        heading: panel.name(),
        caption,
        data,
        drawing,
        table,
    }
}
