//! A comparison as a forest plot: a ratio with its interval for each row, the minimum effect as a band about 1, the
//! verdict in words.

use headwater_results::compare::{Comparison, RowComparison, Verdict};
use headwater_results::sorting::Arrange;

use super::names::{self, abbreviated, widest};
use super::scale::{Scale, Spread};
use super::source::Source;
use super::svg::{Anchor, Drawing, SvgWriter, drawn, moved};
use super::{Chart, Drawings, FIGURES_MAX, Figure, Layout, marks, units};
use crate::markup::shorten;
use crate::text::plural;

/// The entry in the table of charts.
pub(super) const CHART: Chart = Chart {
    name: "forest",
    summary: "the ratios of a comparison with intervals and verdicts",
    needs: "two runs, or two variants of one, with rows in common",
    draw,
};

/// Height above the rows.
const TOP: f64 = 24.0;
/// Height for the labels of ticks and the title of the axis.
const BOTTOM: f64 = 48.0;
/// The height of a name's own line in a narrow drawing.
const NAME_RISE: f64 = 14.0;
/// The distance between a name and what is beside it.
const NAME_GAP: f64 = 10.0;
/// The most rows of a figure: those furthest from 1.
const ROWS_MAX: usize = 60;

fn draw(source: &Source<'_>) -> Vec<Figure> {
    source.comparisons.iter().filter_map(figure).take(FIGURES_MAX).collect()
}

/// Returns the judged rows in the order of the comparison, limited to those furthest from 1, and the number of all
/// judged rows.
fn shown(comparison: &Comparison) -> (Vec<&RowComparison>, usize) {
    let judged = comparison.rows.iter().filter(|row| row.verdict != Verdict::Unjudged && row.ratio.is_some());
    let mut rows: Vec<(usize, &RowComparison)> = judged.enumerate().collect();
    let all = rows.len();
    let distance = |row: &RowComparison| row.ratio.map_or(0.0, |ratio| ratio.value.ln().abs());
    rows.arrange_by(|one, other| distance(other.1).total_cmp(&distance(one.1)));
    rows.truncate(ROWS_MAX);
    rows.arrange_by_key(|(place, _)| *place);
    (rows.into_iter().map(|(_, row)| row).collect(), all)
}

fn figure(comparison: &Comparison) -> Option<Figure> {
    let (rows, all) = shown(comparison);
    let effect = 1.0 + comparison.rules.minimum_effect.clamp(0.0, 10.0);
    let ends = rows.iter().filter_map(|row| row.ratio).flat_map(|ratio| [ratio.low, ratio.high, ratio.value]);
    let ends = ends.filter(|end| end.is_finite() && *end > 0.0);
    let (low, high) = ends.fold((1.0 / effect, effect), |(low, high), end| (low.min(end), high.max(end)));
    if rows.is_empty() {
        return None;
    }
    let heading = format!("{} against {}", comparison.candidate, comparison.baseline);
    let margin = (high / low).powf(0.04);
    let range = (low / margin, high * margin);
    let (title, desc) =
        (format!("Ratios: {heading}"), format!("Ratios of {}; {}.", plural(rows.len(), "row"), tally(&rows)));
    let labels: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
    let tail = names::common_tail(&labels);
    let labels: Vec<&str> = labels.into_iter().map(|label| label.strip_suffix(tail).unwrap_or(label)).collect();
    let drawings = Drawings::plain(|layout| {
        // A narrow drawing has the name and the verdict above the interval.
        let names_width = widest(labels.iter().copied(), (160.0, 300.0));
        let (left, right, height) = layout.choose((names_width + NAME_GAP, 224.0, 20.0), (8.0, 8.0, 34.0));
        // If a name has no room beside its verdict, all names have a line of their own.
        let room = layout.width() - left - right - NAME_GAP;
        let rise = rows.iter().zip(&labels).any(|(row, label)| names::width(label) + names::width(&words(row)) > room);
        let rise = layout.choose(0.0, if rise { NAME_RISE } else { 0.0 });
        let height = height + rise;
        let bottom = TOP + height * rows.len() as f64;
        let scale = Scale::new(Spread::Log10, range, (left, layout.width() - right));
        let mut pen = SvgWriter::default();
        background(&mut pen, &scale, effect, (left, layout.width() - right, bottom), layout.choose(7, 5));
        for (place, (row, label)) in rows.iter().zip(&labels).enumerate() {
            let y = TOP + height * (place as f64 + 1.0) - layout.choose(0.5 * height, 9.0);
            line(&mut pen, &scale, (row, label), (left, layout.width() - right, y), (layout, rise));
        }
        Drawing::new((layout.width(), bottom + BOTTOM), &title, &desc, pen)
    });
    let mut caption = format!(
        "Ratio {} / {} of each row's own figure with its interval; whether higher or lower is better stands beside. \
         Shaded: the minimum effect, {}. Verdicts hold for all rows together, with at most {} false discoveries.",
        comparison.candidate,
        comparison.baseline,
        crate::units::percent(comparison.rules.minimum_effect),
        crate::units::percent(comparison.rules.alpha)
    );
    if !tail.is_empty() {
        caption += &format!(" Every row ends in `{}`.", shorten(tail, 80));
    }
    if rows.len() < all {
        caption += &format!(" Of {all} rows the {} furthest from 1 are drawn.", rows.len());
    }
    Some(Figure {
        number: 0,
        view: CHART.name,
        pattern: String::new(),
        placement: None,
        heading,
        caption,
        data: vec![("candidate", comparison.candidate.clone()), ("baseline", comparison.baseline.clone())],
        drawings,
        table: None,
    })
}

fn background(pen: &mut SvgWriter, scale: &Scale, effect: f64, (left, right, bottom): (f64, f64, f64), ticks: usize) {
    let ticks = scale.placed_ticks(ticks);
    pen.grid(ticks.iter().map(|(at, _)| ((*at, TOP), (*at, bottom))));
    if let (Some(from), Some(to)) = (scale.within(1.0 / effect), scale.within(effect)) {
        pen.rect("effect", (from, TOP), (to - from, bottom - TOP), "");
    }
    if let Some(one) = scale.at(1.0) {
        pen.line("reference", (one, TOP), (one, bottom));
    }
    pen.open("axis", "");
    pen.path("axis-line", &format!("{}{}", moved((left, bottom)), drawn((right, bottom))), "");
    for (at, tick) in ticks {
        pen.text("label", (at, bottom + 17.0), Anchor::Middle, &units::ratio(tick));
    }
    let middle = f64::midpoint(left, right);
    pen.text("label axis-title", (middle, bottom + 38.0), Anchor::Middle, "ratio (logarithmic), 1 is no change");
    pen.close();
}

fn line(
    pen: &mut SvgWriter,
    scale: &Scale,
    (row, label): (&RowComparison, &str),
    (left, right, y): (f64, f64, f64),
    (layout, rise): (Layout, f64),
) {
    let Some(ratio) = row.ratio else { return };
    let verdict = row.verdict.name();
    let text = words(row);
    match layout {
        Layout::Wide => {
            let text = format!("{text}, {} better", row.metric.better.name());
            let name = abbreviated(label, left - NAME_GAP);
            pen.text("label name", (left - NAME_GAP, y + 4.0), Anchor::End, &name);
            pen.text("label value", (right + 12.0, y + 4.0), Anchor::Start, &text);
        }
        Layout::Narrow => {
            let beside = if rise > 0.0 { 0.0 } else { names::width(&text) + NAME_GAP };
            let name = abbreviated(label, right - left - beside);
            pen.text("label name", (left, y - 10.0 - rise), Anchor::Start, &name);
            pen.text("label value", (right, y - 10.0), Anchor::End, &text);
        }
    }
    pen.open(verdict, "");
    if let (Some(low), Some(high)) = (scale.within(ratio.low), scale.within(ratio.high)) {
        let ends = format!("{}{}", moved((low, y - 3.0)), drawn((low, y + 3.0)));
        let other = format!("{}{}", moved((high, y - 3.0)), drawn((high, y + 3.0)));
        pen.path(
            "whisker",
            &format!("{}{}{ends}{other}", moved((low, y)), drawn((high, y))),
            r#"stroke="currentColor""#,
        );
    }
    if let Some(at) = scale.within(ratio.value) {
        // The verdicts differ in shape, so that they can be distinguished without colour.
        pen.path(marks::point_class(shape(&row.verdict)), &marks::marker(shape(&row.verdict), (at, y)), "");
    }
    pen.close();
}

/// Returns the ratio and the verdict in words.
fn words(row: &RowComparison) -> String {
    row.ratio.map_or_else(String::new, |ratio| format!("{:.3} {}", ratio.value, row.verdict.name()))
}

fn shape(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Better => 2,
        Verdict::Worse => 4,
        Verdict::Equivalent => 1,
        Verdict::Inconclusive { .. } | Verdict::Unjudged => 0,
    }
}

fn tally(rows: &[&RowComparison]) -> String {
    let count = |name: &str| rows.iter().filter(|row| row.verdict.name() == name).count();
    let classes = ["better", "worse", "equivalent", "inconclusive"];
    let parts: Vec<String> =
        classes.iter().filter(|class| count(class) > 0).map(|class| format!("{} {class}", count(class))).collect();
    crate::text::list(&parts)
}
