//! Rows without a sweep of sizes as dots with intervals on one axis: workers at a counter, repetitions of many
//! messages, patterns that were measured at one size.

use headwater_results::estimate::Estimate;
use headwater_results::schema::{Better, RowResult};
use headwater_results::sorting::Arrange;

use super::names::{abbreviated, widest};
use super::scale::{Scale, Spread};
use super::source::{Panel, Series, Source};
use super::svg::{Anchor, Drawing, SvgWriter, drawn, moved};
use super::value::Kind;
use super::{Chart, Drawings, FIGURES_MAX, Figure, Layout, marks, sizes};
use crate::{rows, units};

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "dots",
    summary: "rows without a sweep of sizes, a dot with its interval each",
    needs: "two rows without a sweep of sizes",
    draw,
};

const TOP: f64 = 30.0;
const BOTTOM: f64 = 24.0;
/// The distance between a name and the axis.
const NAME_GAP: f64 = 12.0;

/// The most dots of a figure. Further rows are in the table of rows.
const DOTS_MAX: usize = 64;

fn draw(source: &Source<'_>) -> Vec<Figure> {
    let panels = source.panels.iter().filter(|panel| Kind::of(panel) == Kind::Other || panel.sizes.len() < 2);
    panels.filter_map(figure).take(FIGURES_MAX).collect()
}

/// A row with its series.
struct Dot<'a> {
    series: &'a Series<'a>,
    row: &'a RowResult,
    estimate: Estimate,
}

fn figure(panel: &Panel<'_>) -> Option<Figure> {
    let first = panel.rows().find_map(rows::own)?;
    let (unit, better, name) = (first.metric.unit.clone(), first.metric.better, first.metric.name.clone());
    let of = |series: &'_ Series<'_>| series.rows.iter().filter(|row| rows::own(row).is_some()).count();
    let all: usize = panel.series.iter().map(of).sum();
    let mut dots: Vec<Dot<'_>> = Vec::new();
    for series in &panel.series {
        for row in &series.rows {
            let Some(own) = rows::own(row) else { continue };
            if own.metric.unit == unit && dots.len() < DOTS_MAX {
                dots.push(Dot { series, row, estimate: own.estimate });
            }
        }
    }
    // Best first among equal parameters; the null transport last.
    dots.arrange_by(|one, other| {
        let place = |dot: &Dot<'_>| {
            (dot.row.row.worker_kind, dot.row.row.workers, dot.row.row.messages, dot.row.row.size_bytes)
        };
        let value = match better {
            Better::Higher => other.estimate.median.total_cmp(&one.estimate.median),
            Better::Lower => one.estimate.median.total_cmp(&other.estimate.median),
        };
        place(one).cmp(&place(other)).then(value)
    });
    let positive =
        dots.iter().flat_map(|dot| [dot.estimate.low, dot.estimate.high]).filter(|end| *end > 0.0 && end.is_finite());
    let (low, high) = positive.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), end| (low.min(end), high.max(end)));
    if dots.len() < 2 || low > high {
        return None;
    }
    let [(_, spread, range), _] = sizes::reaches((low, high));
    let direction = format!("{} is better", better.name());
    let what = match name.as_str() {
        "one_way" => "one-way",
        other => other,
    };
    let title = format!("{what}, {direction}");
    let drawings = Drawings::plain(|layout| picture(layout, panel, &dots, (spread, range), &unit, &title));
    let mut caption =
        format!("{}, {direction}: the median over launches with its interval.", crate::text::capital(what));
    if dots.len() < all {
        caption += &format!(" {} of {all} rows; the table of rows has all.", dots.len());
    }
    Some(sizes::figure(CHART.name, panel, caption, drawings, None))
}

fn picture(
    layout: Layout,
    panel: &Panel<'_>,
    dots: &[Dot<'_>],
    (spread, range): (Spread, (f64, f64)),
    unit: &str,
    title: &str,
) -> Drawing {
    let names: Vec<String> = dots.iter().map(name).collect();
    let names_width = widest(names.iter().map(String::as_str), (218.0, 320.0));
    // A narrow drawing has the name above its dot.
    let (left, right, line) = layout.choose((names_width + NAME_GAP, 130.0, 19.0), (8.0, 78.0, 32.0));
    let bottom = TOP + line * dots.len() as f64;
    let end = layout.width() - right;
    let scale = Scale::new(spread, range, (left, end));
    let ticks = scale.placed_ticks(layout.choose(6, 4));
    let mut pen = SvgWriter::default();
    pen.grid(ticks.iter().map(|(at, _)| ((*at, TOP), (*at, bottom))));
    pen.open("axis", "");
    pen.text("label axis-title", (left, 16.0), Anchor::Start, title);
    for (at, tick) in &ticks {
        pen.text("label", (*at, bottom + 16.0), Anchor::Middle, &tick_text(*tick, unit));
    }
    pen.close();
    for (place, (dot, name)) in dots.iter().zip(&names).enumerate() {
        let y = TOP + line * (place as f64 + layout.choose(0.5, 0.72));
        let look = dot.series.look;
        let name = abbreviated(name, layout.choose(names_width, layout.width() - left));
        match layout {
            Layout::Wide => pen.text("label name", (left - NAME_GAP, y + 4.0), Anchor::End, &name),
            Layout::Narrow => pen.text("label name", (left, y - 9.0), Anchor::Start, &name),
        }
        pen.open(&marks::class(look), "");
        if let (Some(low), Some(high)) = (scale.within(dot.estimate.low), scale.within(dot.estimate.high)) {
            pen.path("whisker", &format!("{}{}", moved((low, y)), drawn((high, y))), r#"stroke="currentColor""#);
        }
        if let Some(at) = scale.within(dot.estimate.median) {
            pen.path(marks::point_class(look.shape), &marks::marker(look.shape, (at, y)), "");
        }
        pen.close();
        let value = units::quantity(dot.estimate.median, unit);
        pen.text("label value", (end + 14.0, y + 4.0), Anchor::Start, &value);
    }
    let desc = format!("{} rows: {}.", dots.len(), described(dots, unit));
    Drawing::new((layout.width(), bottom + BOTTOM), &format!("{}: {title}", panel.name()), &desc, pen)
}

/// Names a row: its series, and what distinguishes it there.
fn name(dot: &Dot<'_>) -> String {
    format!("{} {}", dot.series.label, parameters(dot.row)).trim_end().to_owned()
}

fn described(dots: &[Dot<'_>], unit: &str) -> String {
    const NAMED: usize = 8;
    let text = |dot: &Dot<'_>| format!("{} {}", name(dot), units::quantity(dot.estimate.median, unit));
    crate::text::short_list(&dots.iter().map(text).collect::<Vec<_>>(), NAMED)
}

fn tick_text(value: f64, unit: &str) -> String {
    match unit {
        "ns" => super::units::duration_ns(value),
        "us" => super::units::duration_ns(value * 1e3),
        "ms" => super::units::duration_ns(value * 1e6),
        "s" => super::units::duration_ns(value * 1e9),
        "ratio" => units::percent(value),
        _ => super::units::prefixed(value),
    }
}

/// Returns the parameters that distinguish the row within its series: size, messages, workers.
fn parameters(result: &RowResult) -> String {
    let row = &result.row;
    let workers = row.workers.map(|workers| {
        let kind = row.worker_kind.map_or("worker", headwater_results::schema::WorkerKind::name);
        crate::text::plural(workers as usize, kind).replace("processs", "processes")
    });
    // The size has no meaning for workers at a counter.
    let size = if workers.is_some() { None } else { row.size_bytes.map(units::size_in_words) };
    let messages = row.messages.map(|messages| format!("x {}", units::grouped(messages as f64)));
    [size, messages, workers].into_iter().flatten().collect::<Vec<_>>().join(" ")
}
