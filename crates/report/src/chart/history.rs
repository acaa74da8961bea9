//! The chart of a history: the runs of a row in their order, each with its interval, a line for each machine and
//! definition, the level between two change points, and the changes marked. Called by the page of histories.

use std::collections::HashSet;
use std::ops::Range;

use headwater_results::compare::Verdict;
use headwater_results::estimate::median;
use headwater_results::history::{By, History, Line, Point};
use headwater_results::schema::Standing;
use headwater_results::sorting::Arrange;

use super::family::{self, Look};
use super::reading::{Reading, interval};
use super::scale::{Scale, Spread};
use super::source::{Key, Series};
use super::xy::{self, Axis, Mark, Plot, Scaled, Trace};
use super::{Figure, SERIES_MAX, emphasis};
use crate::grid::{self, Cell, Grid};
use crate::history::{Labelled, about, day, quantity, share, verdict};
use crate::markup::shorten;
use crate::text::plural;
use crate::units;

/// Returns the figure of a history. `first` is the number of its first change.
pub(crate) fn figure(history: &History, by: &By, first: usize) -> Figure {
    let unit = |value: f64| units::quantity(value, &history.metric.unit);
    let lines = &history.lines[..history.lines.len().min(SERIES_MAX)];
    let subject = history.row.split('/').next().unwrap_or_default();
    let series: Vec<Series<'_>> =
        lines.iter().enumerate().map(|(place, line)| series(subject, history, line, place)).collect();
    let traces: Vec<Trace<'_>> = lines
        .iter()
        .zip(&series)
        .enumerate()
        .map(|(place, (line, series))| Trace {
            series,
            spots: line.points.iter().map(|point| spot(point, series, &unit)).collect(),
            fits: levels(line),
            knees: Vec::new(),
            is_first: place < emphasis::SERIES_AT_FIRST,
        })
        .collect();
    let labels = labels(history, by);
    let label = |place: f64| match place.fract() == 0.0 && place >= 0.0 {
        true => labels.get(place as usize).cloned().unwrap_or_default(),
        false => String::new(),
    };
    let Reach { range, is_cut } = Reach::of(&traces);
    let scale = Scaled {
        name: "linear",
        x: Axis {
            title: &format!("run, in the order of {}", order(history, by)),
            spread: Spread::Places,
            range: (-0.5, labels.len() as f64 - 0.5),
            label: &label,
        },
        y: Axis { title: &quantity(history), spread: Spread::Linear, range, label: &unit },
    };
    let title = format!("{} over {}", history.row, plural(labels.len(), "run"));
    let desc = desc(history, &unit);
    let plot =
        Plot { title: &title, desc: &desc, scales: vec![scale], traces, reference: None, marks: marks(history, first) };
    Figure {
        number: 0,
        view: "history",
        pattern: String::new(),
        placement: None,
        heading: history.row.clone(),
        caption: format!(
            "Each point is a run: the median over its launches, with its interval. The dotted line is the level between two \
             change points, which are marked and numbered. {}{}{}{}",
            if range.0 > 0.0 { "The axis does not begin at zero. " } else { "" },
            if is_cut { "Intervals that are longer than the axis are cut off. " } else { "" },
            capital_better(history),
            if history.lines.len() > lines.len() { " Further machines are in the table." } else { "" }
        ),
        data: Vec::new(),
        drawings: plot.drawings(),
        table: Some((quantity(history), table(history, first))),
    }
}

/// The range of the axis of values.
struct Reach {
    range: (f64, f64),
    /// Whether an interval ends outside of it.
    is_cut: bool,
}

impl Reach {
    /// Makes room for the intervals, but leaves the medians half of the height or more: what is looked for is a change of theirs.
    fn of(traces: &[Trace<'_>]) -> Reach {
        let (least, most) = xy::range(traces, |spot| [spot.low, spot.high]);
        let (lowest, highest) = xy::range(traces, |spot| [spot.y, spot.y]);
        let room = (highest - lowest).max(0.02 * highest.abs()) / 2.0;
        let (low, high) = (least.max(lowest - room), most.min(highest + room));
        let margin = 0.08 * (high - low).max(0.01 * high.abs());
        let range = Scale::rounded(Spread::Linear, ((low - margin).max(0.0), high + margin), 7);
        Reach { range, is_cut: least < range.0 || most > range.1 }
    }
}

fn capital_better(history: &History) -> String {
    format!("{} is better.", crate::text::capital(history.metric.better.name()))
}

fn series<'a>(subject: &'a str, history: &History, line: &Line, place: usize) -> Series<'a> {
    let look = family::look(subject);
    let differs = |of: fn(&Line) -> String| history.lines.iter().any(|other| of(other) != of(line));
    let mut parts = Vec::new();
    if differs(|line| format!("{:?}", line.machine)) || line.machine.host.is_empty() {
        parts.push(line.machine.host.clone());
    }
    if differs(|line| line.definition_version.to_string()) {
        parts.push(format!("definition {}", line.definition_version));
    }
    let label = if parts.concat().is_empty() { line.machine.host.clone() } else { parts.join(", ") };
    Series {
        key: Key { run: place, subject, variant: None },
        // The machines of a row have colours of their own.
        look: Look { colour: (look.colour + place) % COLOURS, shape: place % family::SHAPES, dash: 0 },
        label: shorten(&label, 26),
        standing: Standing::Candidate,
        rows: Vec::new(),
        fit: None,
    }
}

/// The number of colours of series.
const COLOURS: usize = 11;

fn spot(point: &Point, series: &Series<'_>, unit: &dyn Fn(f64) -> String) -> xy::Point {
    let estimate = &point.estimate;
    let mut lines = vec![point.label(), unit(estimate.median)];
    lines.extend(interval(estimate, unit));
    lines.push(format!("{} on {}", point.run, series.label));
    lines.push(format!("headwater {}", point.program));
    let reading = Reading { lines, flags: String::new() };
    xy::Point { x: point.place as f64, y: estimate.median, low: estimate.low, high: estimate.high, reading }
}

/// Returns the indices at which the levels of a line begin, and its length.
fn bounds(line: &Line) -> Vec<usize> {
    let starts = line.changes.iter().map(|change| change.at);
    [0].into_iter().chain(starts).chain([line.points.len()]).collect()
}

/// Returns a line of two points for each level: its median.
fn levels(line: &Line) -> Vec<Vec<(f64, f64)>> {
    let level = |pair: &[usize]| {
        let points = &line.points[pair[0]..pair[1]];
        let middle = median(&points.iter().map(|point| point.estimate.median).collect::<Vec<_>>())?;
        let (first, last) = (points.first()?, points.last()?);
        Some(vec![(first.place as f64 - 0.3, middle), (last.place as f64 + 0.3, middle)])
    };
    bounds(line).windows(2).filter_map(level).collect()
}

fn points(history: &History) -> impl Iterator<Item = &Point> {
    history.lines.iter().flat_map(|line| &line.points)
}

fn days(history: &History) -> HashSet<String> {
    points(history).map(|point| day(&point.started_at)).collect()
}

/// Names the order of the runs for the axis, with the day if it is the same for all.
fn order(history: &History, by: &By) -> String {
    match days(history).into_iter().collect::<Vec<_>>().as_slice() {
        [day] if *by == By::Date && points(history).nth(1).is_some() => format!("time, {day} UTC"),
        _ if *by == By::Date => "time".to_owned(),
        _ => by.name().to_owned(),
    }
}

/// Returns the short name of every place for the axis: the level, or the day, with as much of the time of day as tells the runs
/// apart.
fn labels(history: &History, by: &By) -> Vec<String> {
    let days = days(history);
    let runs: HashSet<&str> = points(history).map(|point| point.started_at.as_str()).collect();
    // The characters of an RFC 3339 time from the month, or from the hour.
    let parts = if days.len() == 1 { [11..16, 11..19, 11..19] } else { [5..10, 5..16, 5..19] };
    let is_enough =
        |part: &Range<usize>| runs.iter().map(|run| run.get(part.clone())).collect::<HashSet<_>>().len() == runs.len();
    let part = parts.iter().find(|part| is_enough(part)).unwrap_or(&parts[2]);
    let count = points(history).map(|point| point.place + 1).max().unwrap_or(0);
    let mut labels = vec![String::new(); count];
    for point in points(history) {
        labels[point.place] = match by {
            By::Date => point.started_at.get(part.clone()).unwrap_or_default().replace('T', " "),
            _ => shorten(&point.level, 16),
        };
    }
    labels
}

/// Returns the changes of all lines with their numbers, in the order of the runs.
pub(crate) fn numbered(history: &History, first: usize) -> Vec<(usize, &Line, &headwater_results::history::Change)> {
    let mut changes: Vec<_> = history
        .lines
        .iter()
        .flat_map(|line| line.changes.iter().map(move |change| (line.points[change.at].place, line, change)))
        .collect();
    changes.arrange_by_key(|(place, ..)| *place);
    changes.into_iter().enumerate().map(|(at, (_, line, change))| (first + at, line, change)).collect()
}

fn marks(history: &History, first: usize) -> Vec<Mark> {
    let mark = |(number, line, change): (usize, &Line, &headwater_results::history::Change)| Mark {
        x: line.points[change.at].place as f64 - 0.5,
        class: class(change.verdict),
        names: [format!("{number}: {}", share(change.ratio.value)), number.to_string()],
    };
    numbered(history, first).into_iter().map(mark).collect()
}

/// Returns the class of a verdict on the page.
pub(crate) fn class(verdict: Verdict) -> &'static str {
    verdict.name()
}

fn desc(history: &History, unit: &dyn Fn(f64) -> String) -> String {
    let line = |line: &Line| {
        let levels = levels(line);
        let levels: Vec<String> =
            levels.iter().filter_map(|level| level.first()).map(|(_, value)| unit(*value)).collect();
        let changes: Vec<String> = line
            .changes
            .iter()
            .map(|change| format!("{} from {} on", verdict(change), line.points[change.at].label()))
            .collect();
        let changes = if changes.is_empty() { "no change".to_owned() } else { changes.join(", ") };
        format!("{}: levels {}; {changes}.", about(line), levels.join(", then "))
    };
    shorten(&history.lines.iter().map(line).collect::<Vec<_>>().join(" "), 1200)
}

/// Returns the runs as a table.
fn table(history: &History, first: usize) -> Grid {
    let unit = |value: f64| units::quantity(value, &history.metric.unit);
    let numbered = numbered(history, first);
    let mut runs: Vec<(&Line, usize)> =
        history.lines.iter().flat_map(|line| (0..line.points.len()).map(move |at| (line, at))).collect();
    runs.arrange_by_key(|(line, at)| line.points[*at].place);
    let of_run = |(line, at): (&Line, usize)| {
        let point = &line.points[at];
        let estimate = &point.estimate;
        let change = numbered.iter().find(|(_, other, change)| std::ptr::eq(*other, line) && change.at == at);
        let cells = [
            unit(estimate.median),
            if estimate.n > 1 {
                format!("{} .. {}", unit(estimate.low), unit(estimate.high))
            } else {
                "\u{2013}".to_owned()
            },
            estimate.n.to_string(),
            shorten(&line.machine.host, 24),
            line.definition_version.to_string(),
            shorten(&point.program, 24),
            change.map(|(number, _, change)| format!("{number}: {}", share(change.ratio.value))).unwrap_or_default(),
        ];
        let label = if point.level == point.started_at {
            point.label()
        } else {
            format!("{}, {}", point.level, day(&point.started_at))
        };
        grid::Line { label: shorten(&label, 60), is_quiet: false, cells: cells.map(Cell::plain).into() }
    };
    Grid {
        corner: "run".to_owned(),
        heads: ["median", "interval", "launches", "host", "definition", "headwater", "change"]
            .map(str::to_owned)
            .into(),
        lines: runs.into_iter().map(of_run).collect(),
    }
}

#[cfg(test)]
mod tests;
