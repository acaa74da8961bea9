//! View (b) of the papers: the time of a message over its size, with the fitted lines and their parameters. On linear axes
//! alpha + beta * size is a straight line; a wide range of sizes is drawn on logarithmic ones at first.

use headwater_results::fit::{Bounded, DelayFit, Segment};
use headwater_results::sorting::Arrange;

use super::scale::Spread;
use super::source::{Panel, Series, Source};
use super::value::{self, Kind};
use super::xy::{self, Axis, Plot, Scaled, Trace};
use super::{Chart, Figure, sizes, units};
use crate::grid::{Cell, Grid, Line};

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "delay",
    summary: "time per message over message size, with fitted lines",
    needs: "rows at two sizes or more",
    draw: |source| sizes::each(source, draw),
};

/// With a larger ratio of the largest to the smallest size, most sizes would be in the first tenth of a linear axis.
const SIZES_LINEAR_MAX: f64 = 64.0;

fn draw(source: &Source<'_>, panel: &Panel<'_>) -> Option<Figure> {
    let kind = Kind::of(panel);
    if kind == Kind::Other {
        return None;
    }
    let text = |seconds: f64| crate::units::duration_ns(seconds * 1e9);
    let mut traces = sizes::traces(source, panel, |_, row| value::delay_s(row), &text);
    let range = xy::range(&traces, |spot| [spot.low, spot.high]);
    let (smallest, largest) = sizes::of(&traces)?;
    let fits: Vec<(&Series<'_>, &DelayFit)> =
        traces.iter().filter_map(|trace| Some((trace.series, trace.series.fit.as_ref()?))).collect();
    for trace in &mut traces {
        if let Some(fit) = &trace.series.fit {
            add_fit(trace, fit);
        }
    }
    let what = quantity(panel, kind);
    let notes = sizes::notes(panel, &traces);
    let title = format!("{what} over message size: {}", panel.name());
    let desc = sizes::desc(&traces, &text);
    let y_title = format!("{}, lower is better", what.to_lowercase());
    let scaled = |(name, spread, range)| {
        let sizes = match spread {
            Spread::Linear => sizes::axis(Spread::LinearSize, (0.0, largest)),
            _ => sizes::axis(Spread::Log2, (smallest, largest)),
        };
        Scaled { name, x: sizes, y: Axis { title: &y_title, spread, range, label: &units::duration_s } }
    };
    let mut reaches = sizes::reaches(range);
    if largest / smallest > SIZES_LINEAR_MAX {
        reaches.arrange_by_key(|(name, ..)| *name != "log");
    }
    let scales = reaches.map(scaled).into();
    let drawings = Plot { title: &title, desc: &desc, scales, traces, reference: None, marks: Vec::new() }.drawings();
    let lines = match fits.is_empty() {
        true => "Too few sizes for a fitted line.",
        false => {
            "Dotted: alpha + beta x size, a straight line on linear axes, fitted block by block with relative weights; a bar \
             marks a knee, where one line ends and another begins."
        }
    };
    let caption = format!("{what}, lower is better. {lines}{notes}");
    let table = (!fits.is_empty()).then(|| ("the fitted lines".to_owned(), parameters(&fits)));
    Some(sizes::figure(CHART.name, panel, caption, drawings, table))
}

/// Returns the quantity of the y axis.
fn quantity(panel: &Panel<'_>, kind: Kind) -> &'static str {
    let own = panel.rows().next().and_then(crate::rows::own).map(|own| own.metric.name.as_str());
    match (kind, own) {
        (Kind::Rate, _) => "Time per message",
        (_, Some("rtt")) => "Round trip (rtt)",
        (_, Some("one_way")) => "One way (one-way)",
        _ => "Duration",
    }
}

/// The points of a fitted line, so that it is smooth on logarithmic axes too.
const FIT_POINTS: usize = 8;

fn add_fit(trace: &mut Trace<'_>, fit: &DelayFit) {
    let delay = |segment: &Segment, size: f64| (size, segment.alpha_s.value + segment.beta_s_per_byte.value * size);
    for segment in &fit.segments {
        let (from, to) = (segment.size_min.max(1) as f64, segment.size_max.max(1) as f64);
        let point = |index: usize| delay(segment, from * (to / from).powf(index as f64 / FIT_POINTS as f64));
        trace.fits.push((0..=FIT_POINTS).map(point).collect());
    }
    for pair in fit.segments.windows(2) {
        let [before, after] = pair else { continue };
        let (one, other) = (delay(before, before.size_max as f64), delay(after, after.size_min as f64));
        trace.knees.push((f64::midpoint(one.0, other.0), f64::midpoint(one.1, other.1)));
    }
}

/// Returns the parameters of the fitted lines, one line of the table each.
fn parameters(fits: &[(&Series<'_>, &DelayFit)]) -> Grid {
    let heads = [
        "sizes",
        "alpha (fixed cost)",
        "beta (per KiB)",
        "1/beta (bandwidth)",
        "alpha/beta (half size)",
        "worst residual",
    ];
    let lines = fits.iter().flat_map(|(series, fit)| {
        fit.segments.iter().map(|segment| Line {
            label: series.label.clone(),
            is_quiet: !series.rows.iter().any(|row| crate::rows::competes(row)),
            cells: cells(segment),
        })
    });
    Grid { corner: "line".to_owned(), heads: heads.map(str::to_owned).into(), lines: lines.collect() }
}

fn cells(segment: &Segment) -> Vec<Cell> {
    let sizes = format!(
        "{} .. {}",
        crate::units::size_in_words(segment.size_min),
        crate::units::size_in_words(segment.size_max)
    );
    let worst =
        segment.residuals.iter().map(|(_, share)| *share).max_by(|one, other| one.abs().total_cmp(&other.abs()));
    let duration = |seconds: f64| crate::units::duration_ns(seconds * 1e9);
    vec![
        Cell::plain(sizes),
        bounded(Some(&segment.alpha_s), &duration),
        bounded(Some(&times(&segment.beta_s_per_byte, 1024.0)), &duration),
        bounded(segment.bandwidth_bytes_per_s.as_ref(), &crate::units::bytes_per_second),
        bounded(segment.half_size_bytes.as_ref(), &|bytes| format!("{} B", crate::units::significant_grouped(bytes))),
        Cell::plain(worst.map_or_else(String::new, crate::units::percent)),
    ]
}

fn times(bounded: &Bounded, factor: f64) -> Bounded {
    Bounded { value: bounded.value * factor, low: bounded.low * factor, high: bounded.high * factor }
}

/// Formats a value with the ends of its interval; a dash if it is undetermined.
fn bounded(value: Option<&Bounded>, text: &dyn Fn(f64) -> String) -> Cell {
    match value {
        None => Cell::plain("\u{2013}"),
        Some(bounded) if bounded.low == bounded.high => Cell::plain(text(bounded.value)),
        Some(bounded) => Cell {
            spread: format!("{} .. {}", text(bounded.low), text(bounded.high)),
            ..Cell::plain(text(bounded.value))
        },
    }
}
