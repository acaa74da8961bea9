//! Shared by the charts over message sizes: their traces, the ends of their axes, their texts.

use headwater_results::estimate::Estimate;
use headwater_results::schema::{RowResult, Standing};
use headwater_results::sorting::Arrange;

use super::emphasis;
use super::reading::Reading;
use super::scale::{Scale, Spread};
use super::source::{Panel, Series, Source};
use super::xy::{self, Axis, Point, Trace};
use super::{Drawings, FIGURES_MAX, Figure, SERIES_MAX};
use crate::grid::Grid;
use crate::text::{plural, short_list};
use crate::{rows, units};

/// From this ratio of the largest to the smallest value on, a logarithmic axis is used instead of one from zero: the
/// smallest would be below a tenth of the height.
pub(super) const LOGARITHM_FROM: f64 = 10.0;

/// Draws a figure for each panel that `draw` can show.
pub(super) fn each(source: &Source<'_>, draw: fn(&Source<'_>, &Panel<'_>) -> Option<Figure>) -> Vec<Figure> {
    let panels = source.panels.iter().filter(|panel| panel.sizes.len() > 1);
    panels.filter_map(|panel| draw(source, panel)).take(FIGURES_MAX).collect()
}

/// Returns a trace for each series with values from `value`, which `text` formats. The null transport is included only if
/// there is nothing else.
pub(super) fn traces<'a>(
    source: &Source<'_>,
    panel: &'a Panel<'a>,
    value: impl Fn(&Series<'a>, &RowResult) -> Option<Estimate>,
    text: &dyn Fn(f64) -> String,
) -> Vec<Trace<'a>> {
    let only_null = panel.series.iter().all(|series| series.standing == Standing::Null);
    let first = emphasis::at_first(panel, source.base.as_ref());
    let trace = |(place, series): (usize, &'a Series<'a>)| {
        let spots = series.rows.iter().filter_map(|row| {
            let estimate = value(series, row)?;
            // A logarithm has no place for a message of no bytes.
            let x = row.row.size_bytes.filter(|size| *size > 0)? as f64;
            let reading = Reading::of(&series.label, row, &estimate, text);
            Some(Point { x, y: estimate.median, low: estimate.low, high: estimate.high, reading })
        });
        let (fits, knees) = (Vec::new(), Vec::new());
        Trace { series, spots: spots.collect(), fits, knees, is_first: first.contains(&place) }
    };
    let shown = panel.series.iter().enumerate().filter(|(_, series)| only_null || series.standing != Standing::Null);
    let mut traces: Vec<Trace<'_>> = shown.map(trace).filter(|trace| !trace.spots.is_empty()).collect();
    // What is drawn at first must not be among those that are left out.
    traces.arrange_by_key(|trace| !trace.is_first);
    traces.truncate(SERIES_MAX);
    // The baseline has no improvement: what is left of the chosen ones may be nothing.
    if !traces.iter().any(|trace| trace.is_first) {
        traces.iter_mut().take(emphasis::SERIES_AT_FIRST).for_each(|trace| trace.is_first = true);
    }
    traces
}

/// Returns the ends of a logarithmic axis of sizes; `None` without a size to draw.
pub(super) fn of(traces: &[Trace<'_>]) -> Option<(f64, f64)> {
    let (low, high) = xy::range(traces, |spot| [spot.x, spot.x]);
    // A logarithmic axis begins at one byte or above.
    (low <= high).then_some((low.max(1.0), high.max(1.0)))
}

/// The axes of values: logarithmic, and linear from zero. The one that shows the values is the first: the linear one if
/// they are close to each other.
pub(super) fn reaches((low, high): (f64, f64)) -> [(&'static str, Spread, (f64, f64)); 2] {
    let linear = ("linear", Spread::Linear, Scale::rounded(Spread::Linear, (0.0, high), 7));
    let logarithmic = ("log", Spread::Log10, Scale::rounded(Spread::Log10, (low / 1.05, high * 1.05), 7));
    if high / low.max(f64::MIN_POSITIVE) < LOGARITHM_FROM { [linear, logarithmic] } else { [logarithmic, linear] }
}

/// The axis of message sizes.
pub(super) fn axis(spread: Spread, range: (f64, f64)) -> Axis<'static> {
    let title = if spread == Spread::Log2 { "message size (logarithmic)" } else { "message size (linear)" };
    Axis { title, spread, range, label: &super::units::size }
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
    last.arrange_by(|one, other| other.1.total_cmp(&one.1));
    let named: Vec<String> = last.iter().map(|(label, value)| format!("{label} {}", text(*value))).collect();
    format!("{} lines. At {}: {}.", traces.len(), units::size_in_words(most), short_list(&named, NAMED))
}

/// Returns the figure for a panel.
pub(super) fn figure(
    view: &'static str,
    panel: &Panel<'_>,
    caption: String,
    drawings: Drawings,
    table: Option<(String, Grid)>,
) -> Figure {
    Figure {
        number: 0,
        view,
        pattern: panel.pattern.to_owned(),
        placement: Some(panel.placement),
        heading: panel.name(),
        caption,
        data: Vec::new(),
        drawings,
        table,
    }
}
