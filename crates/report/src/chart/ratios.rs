//! Ratios with their intervals, a line each, on one logarithmic axis: what a comparison and the costs of tracing have in common.

use headwater_results::sorting::Arrange;

use super::names::{abbreviated, widest};
use super::scale::{Scale, Spread};
use super::svg::{Anchor, Drawing, SvgWriter, drawn, moved};
use super::{Drawings, Layout, Look, marks, names, units};

/// Height above the rows.
const TOP: f64 = 24.0;
/// Height for the labels of ticks and the title of the axis.
const BOTTOM: f64 = 48.0;
/// The height of a name's own line in a narrow drawing.
const NAME_RISE: f64 = 14.0;
/// The distance between a name and what is beside it.
const NAME_GAP: f64 = 10.0;

/// The mark of the ratio beside.
const BESIDE: Look = Look { colour: 6, shape: 3, dash: 0 };

/// What is said of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Better,
    Worse,
    /// No change that counts.
    Equivalent,
    Undecided,
}

impl Judgement {
    /// The class of its colour.
    fn class(self) -> &'static str {
        match self {
            Judgement::Better => "better",
            Judgement::Worse => "worse",
            Judgement::Equivalent => "equivalent",
            Judgement::Undecided => "inconclusive",
        }
    }

    /// The number of its marker: they differ in shape, so that they can be distinguished without colour.
    fn shape(self) -> usize {
        match self {
            Judgement::Better => 2,
            Judgement::Worse => 4,
            Judgement::Equivalent => 1,
            Judgement::Undecided => 0,
        }
    }
}

/// A line of the plot.
#[derive(Clone, Debug)]
pub(super) struct RatioLine {
    pub label: String,
    pub ratio: f64,
    /// The ends of its interval.
    pub low: f64,
    pub high: f64,
    pub judgement: Judgement,
    /// The words beside it, in a narrow and in a wide drawing.
    pub words: [String; 2],
    /// The band about 1 of this line alone, as a share.
    pub effect: Option<f64>,
    /// A ratio of others.
    pub beside: Option<f64>,
}

/// What holds for all lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// For readers of the screen.
    pub title: &'a str,
    pub desc: &'a str,
    /// The title of the axis.
    pub axis: &'a str,
    /// The band about 1, as a factor.
    pub effect: f64,
}

/// Keeps the lines with the largest weights, in their order.
pub(super) fn heaviest<T>(lines: impl Iterator<Item = T>, weight: impl Fn(&T) -> f64, max: usize) -> Vec<T> {
    let mut lines: Vec<(usize, T)> = lines.enumerate().collect();
    lines.arrange_by(|one, other| weight(&other.1).total_cmp(&weight(&one.1)));
    lines.truncate(max);
    lines.arrange_by_key(|(place, _)| *place);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Draws the lines, of which there is one at least.
pub(super) fn plot(lines: &[RatioLine], frame: &Frame<'_>) -> Drawings {
    let ends = lines.iter().flat_map(|line| [line.low, line.high, line.ratio].into_iter().chain(line.beside));
    let ends = ends.filter(|end| end.is_finite() && *end > 0.0);
    let (low, high) = ends.fold((1.0 / frame.effect, frame.effect), |(low, high), end| (low.min(end), high.max(end)));
    let margin = (high / low).powf(0.04);
    let range = (low / margin, high * margin);
    Drawings::plain(|layout| {
        // A narrow drawing has the name and the verdict above the interval.
        let names_width = widest(lines.iter().map(|line| line.label.as_str()), (160.0, 300.0));
        let (left, right, height) = layout.choose((names_width + NAME_GAP, 224.0, 20.0), (8.0, 8.0, 34.0));
        // If a name has no room beside its verdict, all names have a line of their own.
        let room = layout.width() - left - right - NAME_GAP;
        let rise = lines.iter().any(|line| names::width(&line.label) + names::width(&line.words[0]) > room);
        let rise = layout.choose(0.0, if rise { NAME_RISE } else { 0.0 });
        let height = height + rise;
        let bottom = TOP + height * lines.len() as f64;
        let scale = Scale::new(Spread::Log10, range, (left, layout.width() - right));
        let mut pen = SvgWriter::default();
        background(&mut pen, &scale, frame, (left, layout.width() - right, bottom), layout.choose(7, 5));
        for (place, line) in lines.iter().enumerate() {
            let y = TOP + height * (place as f64 + 1.0) - layout.choose(0.5 * height, 9.0);
            if let Some(effect) = line.effect {
                band(&mut pen, &scale, 1.0 + effect, (y - 6.0, y + 6.0));
            }
            draw(&mut pen, &scale, line, (left, layout.width() - right, y), (layout, rise));
        }
        Drawing::new((layout.width(), bottom + BOTTOM), frame.title, frame.desc, pen)
    })
}

fn background(
    pen: &mut SvgWriter,
    scale: &Scale,
    frame: &Frame<'_>,
    (left, right, bottom): (f64, f64, f64),
    ticks: usize,
) {
    let ticks = scale.placed_ticks(ticks);
    pen.grid(ticks.iter().map(|(at, _)| ((*at, TOP), (*at, bottom))));
    if frame.effect > 1.0 {
        band(pen, scale, frame.effect, (TOP, bottom));
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
    pen.text("label axis-title", (middle, bottom + 38.0), Anchor::Middle, frame.axis);
    pen.close();
}

fn band(pen: &mut SvgWriter, scale: &Scale, effect: f64, (top, bottom): (f64, f64)) {
    if let (Some(from), Some(to)) = (scale.within(1.0 / effect), scale.within(effect)) {
        pen.rect("effect", (from, top), (to - from, bottom - top), "");
    }
}

fn draw(
    pen: &mut SvgWriter,
    scale: &Scale,
    line: &RatioLine,
    (left, right, y): (f64, f64, f64),
    (layout, rise): (Layout, f64),
) {
    let [narrow, wide] = &line.words;
    match layout {
        Layout::Wide => {
            let name = abbreviated(&line.label, left - NAME_GAP);
            pen.text("label name", (left - NAME_GAP, y + 4.0), Anchor::End, &name);
            pen.text("label value", (right + 12.0, y + 4.0), Anchor::Start, wide);
        }
        Layout::Narrow => {
            let beside = if rise > 0.0 { 0.0 } else { names::width(narrow) + NAME_GAP };
            let name = abbreviated(&line.label, right - left - beside);
            pen.text("label name", (left, y - 10.0 - rise), Anchor::Start, &name);
            pen.text("label value", (right, y - 10.0), Anchor::End, narrow);
        }
    }
    pen.open(line.judgement.class(), "");
    if let (Some(low), Some(high)) = (scale.within(line.low), scale.within(line.high)) {
        let ends = format!("{}{}", moved((low, y - 3.0)), drawn((low, y + 3.0)));
        let other = format!("{}{}", moved((high, y - 3.0)), drawn((high, y + 3.0)));
        pen.path(
            "whisker",
            &format!("{}{}{ends}{other}", moved((low, y)), drawn((high, y))),
            r#"stroke="currentColor""#,
        );
    }
    if let Some(at) = scale.within(line.ratio) {
        let shape = line.judgement.shape();
        pen.path(marks::point_class(shape), &marks::marker(shape, (at, y)), "");
    }
    pen.close();
    if let Some(at) = line.beside.and_then(|ratio| scale.within(ratio)) {
        pen.open(&marks::class(BESIDE), "");
        pen.path(marks::point_class(BESIDE.shape), &marks::marker(BESIDE.shape, (at, y)), "");
        pen.close();
    }
}
