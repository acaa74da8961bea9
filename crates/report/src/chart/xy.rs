//! Lines over an axis: the points of each series joined, bands for intervals, a legend. Used by the charts whose x axis
//! is a size or a percentile.

use super::marks;
use super::scale::{Scale, Spread};
use super::source::Series;
use super::svg::{Anchor, Drawing, SvgWriter, drawn, moved, through};
use crate::markup::{escape, shorten};

/// Width of a chart in units of its view box, which are pixels in a file.
pub(crate) const WIDTH: f64 = 800.0;
/// Width for the labels of the y axis.
const LEFT: f64 = 62.0;
/// Width for the legend.
const LEGEND: f64 = 208.0;
/// Height for the title of the y axis.
const TOP: f64 = 34.0;
/// Height for the labels and the title of the x axis.
const BOTTOM: f64 = 48.0;
/// Height of the plotted area, unless the legend is longer.
const HEIGHT: f64 = 330.0;
/// Height of a line of the legend.
const LEGEND_LINE: f64 = 18.0;
/// Lines with more points are thinned out: the points would be less than a pixel apart.
const SPOTS_MAX: usize = 160;
/// With more points in a line, the markers would touch each other.
const MARKED_MAX: usize = 40;

/// With more bands, they would hide each other.
const BANDS_MAX: usize = 8;

/// The stroke of a fitted line, dotted finer than any series.
const FIT_STROKE: &str = r#"stroke="currentColor" stroke-dasharray="1.5 3""#;

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
    pub low: f64,
    pub high: f64,
}

/// A series with its points.
#[derive(Debug)]
pub(crate) struct Trace<'a> {
    pub series: &'a Series<'a>,
    /// The points, by ascending x.
    pub spots: Vec<Point>,
    /// The fitted lines, each as a list of points.
    pub fits: Vec<Vec<(f64, f64)>>,
    /// The points between two fitted lines.
    pub knees: Vec<(f64, f64)>,
}

/// One axis.
pub(crate) struct Axis<'a> {
    pub title: &'a str,
    pub spread: Spread,
    /// The values at its ends.
    pub range: (f64, f64),
    /// Formats the label of a tick.
    pub label: &'a dyn Fn(f64) -> String,
}

/// A chart of lines.
pub(crate) struct Plot<'a> {
    pub title: &'a str,
    pub desc: &'a str,
    pub x: Axis<'a>,
    pub y: Axis<'a>,
    pub traces: Vec<Trace<'a>>,
    /// A value of y that is marked, such as "no change".
    pub reference: Option<f64>,
}

impl Plot<'_> {
    /// Draws the chart.
    pub fn draw(&self) -> Drawing {
        let height = HEIGHT.max(LEGEND_LINE * self.traces.len() as f64);
        let (right, bottom) = (WIDTH - LEGEND, TOP + height);
        let x = Scale::new(self.x.spread, self.x.range, (LEFT, right));
        let y = Scale::new(self.y.spread, self.y.range, (bottom, TOP));
        let mut pen = SvgWriter::default();
        self.axes(&mut pen, &x, &y, (right, bottom));
        if let Some(at) = self.reference.and_then(|value| y.at(value)).filter(|at| (TOP..=bottom).contains(at)) {
            pen.line("reference", (LEFT, at), (right, at));
        }
        // The first series is drawn last, on top.
        for trace in self.traces.iter().rev() {
            draw_trace(&mut pen, trace, &x, &y, self.traces.len() <= BANDS_MAX);
        }
        self.legend(&mut pen, right + 18.0);
        Drawing::new((WIDTH, bottom + BOTTOM), self.title, self.desc, pen)
    }

    fn axes(&self, pen: &mut SvgWriter, x: &Scale, y: &Scale, (right, bottom): (f64, f64)) {
        let x_ticks = x.placed_ticks(if self.x.spread == Spread::LinearSize { 12 } else { 18 });
        let y_ticks = y.placed_ticks(7);
        let across = y_ticks.iter().map(|(at, _)| ((LEFT, *at), (right, *at)));
        pen.grid(across.chain(x_ticks.iter().map(|(at, _)| ((*at, TOP), (*at, bottom)))));
        pen.open("axis", "");
        pen.path("axis-line", &format!("{}{}", moved((LEFT, bottom)), drawn((right, bottom))), "");
        for (at, value) in &y_ticks {
            pen.text("label", (LEFT - 8.0, at + 4.0), Anchor::End, &(self.y.label)(*value));
        }
        for (at, value) in &x_ticks {
            pen.text("label", (*at, bottom + 17.0), Anchor::Middle, &(self.x.label)(*value));
        }
        pen.text("label axis-title", (0.0, 16.0), Anchor::Start, self.y.title);
        pen.text("label axis-title", (f64::midpoint(LEFT, right), bottom + 38.0), Anchor::Middle, self.x.title);
        pen.close();
    }

    /// Lists the names in the order of the lines' right ends.
    fn legend(&self, pen: &mut SvgWriter, left: f64) {
        let mut traces: Vec<&Trace<'_>> = self.traces.iter().collect();
        let last = |trace: &Trace<'_>| trace.spots.last().map_or(f64::NEG_INFINITY, |spot| spot.y);
        traces.sort_by(|one, other| last(other).total_cmp(&last(one)));
        pen.open("legend", "");
        for (place, trace) in traces.into_iter().enumerate() {
            let at = TOP + 8.0 + LEGEND_LINE * place as f64;
            let index = trace.series.index;
            pen.open(&marks::class(index), "");
            let line = format!("{}{}", moved((left, at)), drawn((left + 28.0, at)));
            pen.path("line", &line, &marks::stroke(index));
            pen.path(marks::point_class(index), &marks::marker(index, (left + 14.0, at)), "");
            pen.close();
            pen.text("label", (left + 35.0, at + 4.0), Anchor::Start, &shorten(&trace.series.label, 23));
        }
        pen.close();
    }
}

/// Returns the range of all values of the traces on one axis, including intervals.
pub(crate) fn range(traces: &[Trace<'_>], of: fn(&Point) -> [f64; 2]) -> (f64, f64) {
    let ends = traces.iter().flat_map(|trace| &trace.spots).flat_map(of).filter(|value| value.is_finite());
    ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

/// Draws one trace. `are_few` tells whether bands are distinguishable; otherwise whiskers are drawn.
fn draw_trace(pen: &mut SvgWriter, trace: &Trace<'_>, x: &Scale, y: &Scale, are_few: bool) {
    let index = trace.series.index;
    let key = &trace.series.key;
    let data = format!(
        r#"data-run="{}" data-subject="{}" data-variant="{}" data-label="{}""#,
        key.run,
        escape(key.subject),
        escape(key.variant.unwrap_or("")),
        escape(&trace.series.label)
    );
    let spots = thinned(&trace.spots);
    let place = |at: f64, value: f64| Some((x.at(at)?, y.within(value)?));
    let middle: Vec<(f64, f64)> = spots.iter().filter_map(|spot| place(spot.x, spot.y)).collect();
    let upper = spots.iter().filter_map(|spot| place(spot.x, spot.high));
    let lower = spots.iter().rev().filter_map(|spot| place(spot.x, spot.low));
    pen.open(&marks::class(index), &data);
    let has_intervals = spots.iter().any(|spot| spot.low < spot.high);
    if has_intervals && (spots.len() > MARKED_MAX || are_few && spots.len() > 1) {
        pen.path("band", &(through(upper.chain(lower)) + "z"), r#"fill="currentColor""#);
    } else if has_intervals {
        let whisker = |spot: &Point| {
            let at = x.at(spot.x)?;
            Some(format!("{}{}", moved((at, y.within(spot.low)?)), drawn((at, y.within(spot.high)?))))
        };
        pen.path("whisker", &spots.iter().filter_map(whisker).collect::<String>(), r#"stroke="currentColor""#);
    }
    pen.path("line", &through(middle.iter().copied()), &marks::stroke(index));
    for fit in &trace.fits {
        pen.path("fit", &through(fit.iter().filter_map(|&(at, value)| place(at, value))), FIT_STROKE);
    }
    for (at, value) in trace.knees.iter().filter_map(|&(at, value)| place(at, value)) {
        pen.path("knee", &format!("{}{}", moved((at, at_most(value - 9.0))), drawn((at, value + 9.0))), "");
    }
    if middle.len() <= MARKED_MAX {
        let markers: String = middle.iter().map(|&place| marks::marker(index, place)).collect();
        pen.path(marks::point_class(index), &markers, "");
    }
    pen.close();
}

/// Limits a position, so that a mark is below the title of the axis.
fn at_most(place: f64) -> f64 {
    place.max(TOP)
}

/// Returns at most [`SPOTS_MAX`] points, evenly selected, including the first and the last.
fn thinned(spots: &[Point]) -> Vec<Point> {
    if spots.len() <= SPOTS_MAX {
        return spots.to_vec();
    }
    let step = (spots.len() - 1) as f64 / (SPOTS_MAX - 1) as f64;
    (0..SPOTS_MAX).map(|index| spots[((index as f64 * step).round() as usize).min(spots.len() - 1)]).collect()
}

/// Whether some line with that many values is thinned out.
pub(crate) fn is_thinned(traces: &[Trace<'_>]) -> bool {
    traces.iter().any(|trace| trace.spots.len() > SPOTS_MAX)
}

#[cfg(test)]
mod tests;
