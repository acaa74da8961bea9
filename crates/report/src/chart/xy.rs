//! Lines over an axis: the points of each series joined, bands for intervals, a name at each end. Used by the charts whose
//! x axis is a size or a percentile.
//!
//! Each chart is drawn in two widths, and on every scale that a reader can choose: the page's script shows another of
//! these drawings and draws nothing itself.

use std::collections::HashSet;

use super::ends::{self, End};
use super::layout::Layout;
use super::marks;
use super::names::{self, widest};
use super::reading::Reading;
use super::scale::{Scale, Spread};
use super::source::Series;
use super::svg::{Anchor, Drawing, SvgWriter, drawn, moved, through};
use super::{Drawings, Line};
use crate::markup::{escape, shorten};

/// Height for the title of the y axis.
const TOP: f64 = 34.0;
/// Height for the labels and the title of the x axis.
const BOTTOM: f64 = 48.0;
/// Lines with more points are thinned out: the points would be less than a pixel apart.
const SPOTS_MAX: usize = 160;
/// With more points in a line, the markers would touch each other.
const MARKED_MAX: usize = 40;
/// The most lines whose intervals are bands: more translucent bands above each other have no colour that says whose they are.
const BANDS_MAX: usize = 2;

/// The stroke of a fitted line, dotted finer than any series.
const FIT_STROKE: &str = r#"stroke="currentColor" stroke-dasharray="1.5 3""#;

/// A value with its interval, and the words about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
    pub low: f64,
    pub high: f64,
    pub reading: Reading,
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
    /// Whether it is drawn at first.
    pub is_first: bool,
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

/// A scale that a reader can choose.
pub(crate) struct Scaled<'a> {
    /// Its name in the page.
    pub name: &'static str,
    pub x: Axis<'a>,
    pub y: Axis<'a>,
}

/// A chart of lines.
pub(crate) struct Plot<'a> {
    pub title: &'a str,
    pub desc: &'a str,
    /// The scales, the first one as it is drawn at first.
    pub scales: Vec<Scaled<'a>>,
    pub traces: Vec<Trace<'a>>,
    /// A value of y that is marked, such as "no change".
    pub reference: Option<f64>,
    /// Values of x that are marked, ascending.
    pub marks: Vec<Mark>,
}

/// A value of x with its name above the plot.
pub(crate) struct Mark {
    pub x: f64,
    /// The class of line and name.
    pub class: &'static str,
    /// The name, and a shorter one for where there is no room.
    pub names: [String; 2],
}

impl Plot<'_> {
    /// Draws the chart on every scale and in every width.
    pub fn drawings(&self) -> Drawings {
        let pair = |scale: &Scaled<'_>| Layout::ALL.map(|layout| self.draw(scale, layout));
        let line = |trace: &Trace<'_>| Line {
            name: trace.series.label.clone(),
            look: trace.series.look,
            is_first: trace.is_first,
            readings: thinned(&trace.spots).into_iter().map(|spot| spot.reading).collect(),
        };
        Drawings {
            scales: self.scales.iter().map(|scale| (scale.name, pair(scale))).collect(),
            lines: self.traces.iter().map(line).collect(),
        }
    }

    fn draw(&self, scale: &Scaled<'_>, layout: Layout) -> Drawing {
        let height = layout.choose(330.0_f64, 280.0).max(ends::GAP * self.traces.len() as f64);
        let y = Scale::new(scale.y.spread, scale.y.range, (TOP + height, TOP));
        let ticks: Vec<String> = y.placed_ticks(Y_TICKS).iter().map(|(_, value)| (scale.y.label)(*value)).collect();
        let left = TICK_GAP + widest(ticks.iter().map(String::as_str), layout.choose((62.0, 62.0), (32.0, 90.0)));
        let names = self.traces.iter().map(|trace| (&trace.series.look, trace.series.label.as_str()));
        let (right, bottom) = (layout.width() - ends::width(names, layout), TOP + height);
        let x = Scale::new(scale.x.spread, scale.x.range, (left, right));
        let mut pen = SvgWriter::default();
        axes(&mut pen, scale, (&x, &y), (left, right, bottom), layout);
        if let Some(at) = self.reference.and_then(|value| y.at(value)).filter(|at| (TOP..=bottom).contains(at)) {
            pen.line("reference", (left, at), (right, at));
        }
        self.marks(&mut pen, &x, (left, right, bottom), layout);
        // The first series is drawn last, on top.
        let has_bands = self.traces.iter().filter(|trace| trace.is_first).count() <= BANDS_MAX;
        for (place, trace) in self.traces.iter().enumerate().rev() {
            draw_trace(&mut pen, (place, has_bands && trace.is_first), trace, &x, &y);
        }
        self.names(&mut pen, &x, &y, ((right + ends::LEFT, layout.width()), bottom));
        Drawing::new((layout.width(), bottom + BOTTOM), self.title, self.desc, pen)
    }

    /// Draws the marked values of x. A name that would touch the one before it is replaced by the shorter one, or left out.
    fn marks(&self, pen: &mut SvgWriter, x: &Scale, (left, right, bottom): (f64, f64, f64), layout: Layout) {
        let mut free_from = left;
        for mark in &self.marks {
            let Some(at) = x.at(mark.x).filter(|at| (left..=right).contains(at)) else { continue };
            pen.line(&format!("mark {}", mark.class), (at, TOP - 2.0), (at, bottom));
            let half = |name: &String| names::width(name) / 2.0;
            let fits = |name: &&String| at - half(name) >= free_from && at + half(name) <= layout.width();
            if let Some(name) = mark.names.iter().find(fits) {
                pen.text(&format!("label mark-name {}", mark.class), (at, TOP - 5.0), Anchor::Middle, name);
                free_from = at + half(name) + 6.0;
            }
        }
    }

    /// Names the lines at their ends: once for those that are drawn at first, and once for all.
    fn names(&self, pen: &mut SvgWriter, x: &Scale, y: &Scale, (sides, bottom): ((f64, f64), f64)) {
        let end = |(place, trace): (usize, &Trace<'_>)| {
            let last = trace.spots.last()?;
            let at = (x.at(last.x)?, y.within(last.y)?);
            Some(End { place, at, look: trace.series.look, name: trace.series.label.clone() })
        };
        let all: Vec<End> = self.traces.iter().enumerate().filter_map(end).collect();
        let first: HashSet<usize> = (0..self.traces.len()).filter(|&place| self.traces[place].is_first).collect();
        let span = (TOP, bottom);
        if first.len() < self.traces.len() {
            let few: Vec<End> = all.iter().filter(|end| first.contains(&end.place)).cloned().collect();
            ends::write(pen, "ends few", &few, sides, span);
            ends::write(pen, "ends all", &all, sides, span);
        } else {
            ends::write(pen, "ends", &all, sides, span);
        }
    }
}

/// The most ticks of the y axis.
const Y_TICKS: usize = 7;
/// The distance between the y axis and the labels of its ticks.
const TICK_GAP: f64 = 8.0;
/// Width for the label of a tick.
const TICK_WIDTH: f64 = 46.0;

fn axes(
    pen: &mut SvgWriter,
    scaled: &Scaled<'_>,
    (x, y): (&Scale, &Scale),
    (left, right, bottom): (f64, f64, f64),
    layout: Layout,
) {
    let x_ticks = x.placed_ticks(((right - left) / TICK_WIDTH) as usize);
    let y_ticks = y.placed_ticks(Y_TICKS);
    let across = y_ticks.iter().map(|(at, _)| ((left, *at), (right, *at)));
    pen.grid(across.chain(x_ticks.iter().map(|(at, _)| ((*at, TOP), (*at, bottom)))));
    pen.open("axis", "");
    pen.path("axis-line", &format!("{}{}", moved((left, bottom)), drawn((right, bottom))), "");
    for (at, value) in &y_ticks {
        pen.text("label", (left - TICK_GAP, at + 4.0), Anchor::End, &(scaled.y.label)(*value));
    }
    let mut free_from = f64::NEG_INFINITY;
    for (at, value) in &x_ticks {
        let text = (scaled.x.label)(*value);
        // A label that would touch the one before it is left out.
        let half = names::width(&text) / 2.0;
        if at - half >= free_from {
            pen.text("label", (*at, bottom + 17.0), Anchor::Middle, &text);
            free_from = at + half + 4.0;
        }
    }
    let title = |text: &str| shorten(text, layout.choose(110, 54));
    pen.text("label axis-title", (0.0, 16.0), Anchor::Start, &title(scaled.y.title));
    pen.text("label axis-title", (f64::midpoint(left, right), bottom + 38.0), Anchor::Middle, &title(scaled.x.title));
    pen.close();
}

/// Returns the range of all values of the traces on one axis, including intervals.
pub(crate) fn range(traces: &[Trace<'_>], of: fn(&Point) -> [f64; 2]) -> (f64, f64) {
    let ends = traces.iter().flat_map(|trace| &trace.spots).flat_map(of).filter(|value| value.is_finite());
    ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

/// Draws one trace. Its intervals are a band, or whiskers: many bands would hide each other.
fn draw_trace(pen: &mut SvgWriter, (place, has_band): (usize, bool), trace: &Trace<'_>, x: &Scale, y: &Scale) {
    let look = trace.series.look;
    let data = format!(r#"data-s="{place}" data-label="{}""#, escape(&trace.series.label));
    let spots = thinned(&trace.spots);
    let position = |at: f64, value: f64| Some((x.at(at)?, y.within(value)?));
    let middle: Vec<(f64, f64)> = spots.iter().filter_map(|spot| position(spot.x, spot.y)).collect();
    let upper = spots.iter().filter_map(|spot| position(spot.x, spot.high));
    let lower = spots.iter().rev().filter_map(|spot| position(spot.x, spot.low));
    let other = if trace.is_first { "" } else { " other" };
    pen.open(&format!("{}{other}", marks::class(look)), &data);
    let has_intervals = spots.iter().any(|spot| spot.low < spot.high);
    if has_intervals && (spots.len() > MARKED_MAX || has_band && spots.len() > 1) {
        pen.path("band", &(through(upper.chain(lower)) + "z"), r#"fill="currentColor""#);
    } else if has_intervals {
        let whisker = |spot: &Point| {
            let at = x.at(spot.x)?;
            Some(format!("{}{}", moved((at, y.within(spot.low)?)), drawn((at, y.within(spot.high)?))))
        };
        pen.path("whisker", &spots.iter().filter_map(whisker).collect::<String>(), r#"stroke="currentColor""#);
    }
    pen.path("line", &through(middle.iter().copied()), &marks::stroke(look));
    for fit in &trace.fits {
        pen.path("fit", &through(fit.iter().filter_map(|&(at, value)| position(at, value))), FIT_STROKE);
    }
    for (at, value) in trace.knees.iter().filter_map(|&(at, value)| position(at, value)) {
        pen.path("knee", &format!("{}{}", moved((at, at_most(value - 9.0))), drawn((at, value + 9.0))), "");
    }
    if middle.len() <= MARKED_MAX {
        let markers: String = middle.iter().map(|&place| marks::marker(look.shape, place)).collect();
        pen.path(marks::point_class(look.shape), &markers, "");
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
    (0..SPOTS_MAX).map(|index| spots[((index as f64 * step).round() as usize).min(spots.len() - 1)].clone()).collect()
}

/// Whether some line with that many values is thinned out.
pub(crate) fn is_thinned(traces: &[Trace<'_>]) -> bool {
    traces.iter().any(|trace| trace.spots.len() > SPOTS_MAX)
}

#[cfg(test)]
mod tests;
