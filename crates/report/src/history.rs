//! Histories as text: for each row and machine the runs as a chart with intervals, the change points between them, and
//! what else changed there. Called by the command; the words are those of the page too.

use headwater_results::compare::{Rules, Verdict};
use headwater_results::history::{By, Cause, Change, Histories, History, Left, Line, Open, Point, divisive};

use crate::grid::cut;
use crate::style::{Style, best, finish, quiet, strong, width_of};
use crate::text::{capital, plural, short_list, wrap};
use crate::units;

/// Histories with their context.
#[derive(Clone, Copy, Debug)]
pub struct HistoryReport<'a> {
    /// The histories.
    pub histories: &'a Histories,
    /// The property by which runs are ordered.
    pub by: &'a By,
    /// The rules of the tests.
    pub rules: Rules,
    /// Runs that could not be read, and rows that a run has no figure of.
    pub left_out: &'a [Left],
    /// The number of runs that were read.
    pub runs: usize,
    /// Whether every run is listed, however many there are.
    pub all: bool,
}

/// Around a change point and at the end of a line, this many runs are listed.
const NEAR: usize = 4;

/// Up to this many runs, all are listed.
const LISTED_MAX: usize = 24;

/// The most reasons for what is left out that are listed.
const LEFT_OUT_MAX: usize = 12;

/// The most facts of a change that are named.
const CAUSES_MAX: usize = 4;

/// Returns the whole text, terminated by a newline.
pub fn history(report: &HistoryReport<'_>, style: &Style) -> String {
    let mut parts: Vec<String> = Vec::new();
    for history in &report.histories.histories {
        for line in &history.lines {
            parts.push(of_line(history, line, report, style));
        }
    }
    parts.extend(summary(report).iter().map(|sentence| wrap(sentence, style.columns(), 0)));
    parts.extend(left_out(report, style));
    parts.push(quiet(&wrap(&method(report), style.columns(), 0)));
    finish(&(parts.join("\n\n") + "\n"), style)
}

/// Returns the results in sentences, what changed first.
pub(crate) fn summary(report: &HistoryReport<'_>) -> Vec<String> {
    let lines =
        || report.histories.histories.iter().flat_map(|history| history.lines.iter().map(move |line| (history, line)));
    let several = lines().count() > 1;
    let subject = |history: &History, line: &Line| match (several, has_several_hosts(history)) {
        (false, _) => String::new(),
        (true, false) => format!("{}: ", history.row),
        (true, true) => format!("{} on {}: ", history.row, line.machine.host),
    };
    let mut sentences = Vec::new();
    for (history, line) in lines() {
        for change in &line.changes {
            sentences.push(named(&subject(history, line), &of_change(line, change)));
        }
        if let Some(open) = &line.open {
            sentences.push(named(&subject(history, line), &of_open(line, open)));
        }
    }
    let unchanged = lines().filter(|(_, line)| line.changes.is_empty() && line.runs_missing.is_none()).count();
    match (unchanged, lines().count()) {
        (0, _) => {}
        (1, 1) => sentences.push("The level of the row has not changed, as far as its runs can show.".to_owned()),
        (some, all) => sentences
            .push(format!("{some} of {} have not changed, as far as their runs can show.", plural(all, "line"))),
    }
    let moves = report.histories.shared.iter().filter(|shared| shared.range - 1.0 >= report.rules.minimum_effect);
    sentences.extend(moves.map(|shared| {
        format!(
            "All {} of {} moved together by up to {} (slowest in {}, fastest in {}): the machine, or something that all rows \
             share. The rows are judged against this movement.",
            plural(shared.rows, "row"),
            shared.host,
            units::percent(shared.range - 1.0),
            shared.slowest,
            shared.fastest
        )
    }));
    let short: Vec<usize> = lines().filter_map(|(_, line)| line.runs_missing).collect();
    if let Some(least) = short.iter().min() {
        sentences.push(format!(
            "{} with fewer than {} runs: a change cannot be found there; {} at least are missing.",
            plural(short.len(), "line"),
            divisive::VALUES_MIN,
            plural(*least, "run")
        ));
    }
    sentences
}

/// Puts the name of a row before a sentence. A name keeps its small letters.
fn named(subject: &str, sentence: &str) -> String {
    if subject.is_empty() { capital(sentence) } else { format!("{subject}{sentence}") }
}

/// Describes a change point: `worse by 6.4 % from run X on: ...`.
fn of_change(line: &Line, change: &Change) -> String {
    let causes: Vec<String> = held(change).map(cause).collect();
    let what = match causes.len() {
        0 if change.environment.is_empty() => {
            "nothing that is recorded about the machine or the program changed there".to_owned()
        }
        0 => "no fact differs for good from there on".to_owned(),
        _ => format!("there changed {}", short_list(&causes, CAUSES_MAX)),
    };
    let more = change.more_runs.map(|more| format!(" Its interval needs about {} more.", plural(more as usize, "run")));
    format!(
        "{} from {} on (run {} of {}): {}; {what}.{}",
        verdict(change),
        line.points[change.at].label(),
        change.at + 1,
        line.points.len(),
        numbers(change),
        more.unwrap_or_default()
    )
}

/// The facts that all runs of either level have.
pub(crate) fn held(change: &Change) -> impl Iterator<Item = &Cause> {
    change.environment.iter().filter(|cause| cause.holds)
}

/// Formats a fact: `kernel release 6.9.1 -> 6.12.0`.
pub(crate) fn cause(cause: &Cause) -> String {
    let short = |value: &str| crate::markup::shorten(value, 48);
    let difference = &cause.difference;
    format!("{} {} -> {}", difference.what, short(&difference.before), short(&difference.after))
}

/// Formats the change with its interval and p-value: `+6.4 % (+4.9 .. +7.0 %), p = 0.001`.
pub(crate) fn numbers(change: &Change) -> String {
    let ratio = &change.ratio;
    format!("{} ({} .. {}), {}", share(ratio.value), share(ratio.low), share(ratio.high), p_value(change.p))
}

/// Formats a ratio as a signed share.
pub(crate) fn share(ratio: f64) -> String {
    let share = ratio - 1.0;
    format!("{}{}", if share > 0.0 { "+" } else { "" }, units::percent(share))
}

/// Formats a p-value.
pub(crate) fn p_value(p: f64) -> String {
    format!("p = {}", if p < 0.0095 { format!("{p:.4}") } else { format!("{p:.3}") })
}

/// Returns the verdict on a change in one or two words.
pub(crate) fn verdict(change: &Change) -> &'static str {
    match change.verdict {
        Verdict::Equivalent => "changed within the minimum effect",
        Verdict::Inconclusive { .. } => "changed by little",
        verdict => verdict.name(),
    }
}

fn of_open(line: &Line, open: &Open) -> String {
    let after = line.points.len() - open.at;
    let more = match open.more_runs {
        Some(more) => format!("about {} like them would prove it", plural(more as usize, "more run")),
        None => "more runs like them would not prove it soon".to_owned(),
    };
    format!(
        "perhaps another level from {} on: the last {} differ by {}, {}; {more}.",
        line.points[open.at].label(),
        plural(after, "run"),
        share(open.ratio.value),
        p_value(open.p)
    )
}

fn has_several_hosts(history: &History) -> bool {
    history.lines.windows(2).any(|pair| pair[0].machine != pair[1].machine)
}

/// Names a line: machine, definition, extent.
pub(crate) fn about(line: &Line) -> String {
    let machine = &line.machine;
    let first_and_last = [line.points.first(), line.points.last()].into_iter().flatten();
    let mut dates: Vec<String> = first_and_last.map(|point| day(&point.started_at)).collect();
    dates.dedup();
    let cpus = if machine.cpus > 0 { plural(machine.cpus, "CPU") } else { String::new() };
    let parts = [
        machine.host.clone(),
        machine.cpu.clone(),
        cpus,
        format!("definition {}", line.definition_version),
        plural(line.points.len(), "run"),
        dates.join(" to "),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Names the quantity of a history: `rtt, lower is better`.
pub(crate) fn quantity(history: &History) -> String {
    format!("{}, {} is better", history.metric.name.replace("one_way", "one-way"), history.metric.better.name())
}

/// Returns the day of an RFC 3339 time.
pub(crate) fn day(at: &str) -> String {
    at.get(..10).unwrap_or(at).to_owned()
}

/// What a run is called in a list and on an axis.
pub(crate) trait Labelled {
    /// Returns the date with the minute, or the level.
    fn label(&self) -> String;
}

impl Labelled for Point {
    fn label(&self) -> String {
        if self.level == self.started_at { crate::page::date(&self.level) } else { self.level.clone() }
    }
}

fn of_line(history: &History, line: &Line, report: &HistoryReport<'_>, style: &Style) -> String {
    let title = format!("{}: {}", history.row, quantity(history));
    let mut text =
        format!("{}\n{}", strong(&wrap(&title, style.columns(), 2)), quiet(&wrap(&about(line), style.columns(), 2)));
    if style.unicode {
        text += &format!("\n  {}", sparkline(line, style.columns() - 2));
    }
    let unit = |value: f64| units::quantity(value, &history.metric.unit);
    let values: Vec<String> = line.points.iter().map(|point| unit(point.estimate.median)).collect();
    let label = line.points.iter().map(|point| width_of(&point.label())).max().unwrap_or(0).min(24);
    let value = values.iter().map(|value| width_of(value)).max().unwrap_or(0);
    let room = style.columns().saturating_sub(label + value + 6).max(16);
    let listed = listed(line, report.all);
    let mut hidden = 0;
    for (at, point) in line.points.iter().enumerate() {
        let change = line.changes.iter().find(|change| change.at == at);
        if !listed[at] {
            hidden += 1;
            continue;
        }
        if hidden > 0 {
            text += &format!("\n  {}", quiet(&format!("{} {}", style.ellipsis(), plural(hidden, "run"))));
            hidden = 0;
        }
        text.extend(change.map(|change| format!("\n{}", rule(change, style))));
        let name = cut(&point.label(), label, style);
        let gap = " ".repeat(label - width_of(&name) + 2 + value - width_of(&values[at]));
        text += &format!("\n  {name}{gap}{}  {}", values[at], bar(line, point, room, style).trim_end());
    }
    text
}

/// Which runs are listed: all of a short line, else those around change points and at the end.
fn listed(line: &Line, all: bool) -> Vec<bool> {
    let count = line.points.len();
    let is_near = |at: usize| {
        let of_change = line.changes.iter().any(|change| at + NEAR >= change.at && at < change.at + NEAR);
        let of_open = line.open.as_ref().is_some_and(|open| at >= open.at);
        of_change || of_open || at < 2 || at + 2 * NEAR >= count
    };
    let mut listed: Vec<bool> = (0..count).map(|at| all || count <= LISTED_MAX || is_near(at)).collect();
    // The line that counts the hidden ones takes the place of one.
    for at in 1..count.saturating_sub(1) {
        listed[at] |= listed[at - 1] && listed[at + 1];
    }
    listed
}

/// The line between two runs that marks a change.
fn rule(change: &Change, style: &Style) -> String {
    let dashes: String = std::iter::repeat_n(style.rule(), 3).collect();
    let words = format!("{dashes} {}: {}", verdict(change), numbers(change));
    let emphasis: fn(&str) -> String = if change.verdict == Verdict::Better { best } else { strong };
    let causes: Vec<String> = held(change).map(cause).collect();
    let mut text = emphasis(&wrap(&words, style.columns(), 4));
    if !causes.is_empty() {
        text += &format!(
            "\n    {}",
            wrap(&short_list(&causes, CAUSES_MAX), style.columns() - 4, 0).replace('\n', "\n    ")
        );
    }
    text
}

/// Draws the interval of a run on the scale of its line.
fn bar(line: &Line, point: &Point, room: usize, style: &Style) -> String {
    let ends = |of: fn(&Point) -> f64| line.points.iter().map(of);
    let low = ends(|point| point.estimate.low).fold(f64::INFINITY, f64::min);
    let high = ends(|point| point.estimate.high).fold(f64::NEG_INFINITY, f64::max);
    let place = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        (share * (room - 1) as f64).round() as usize
    };
    let [left, dash, right, middle] = if style.unicode { ['├', '─', '┤', '●'] } else { ['|', '-', '|', 'o'] };
    let estimate = &point.estimate;
    let mut cells = vec![' '; room];
    let (from, to) = (place(estimate.low), place(estimate.high));
    cells[from..=to].fill(dash);
    (cells[from], cells[to]) = (left, right);
    cells[place(estimate.median)] = middle;
    cells.into_iter().collect()
}

/// Draws the medians of the last runs that fit, one character each.
fn sparkline(line: &Line, room: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let medians: Vec<f64> = line.points.iter().map(|point| point.estimate.median).collect();
    let low = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let high = medians.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let block = |value: &f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        BLOCKS[(share * 7.0).round() as usize]
    };
    medians[medians.len().saturating_sub(room)..].iter().map(block).collect()
}

fn left_out(report: &HistoryReport<'_>, style: &Style) -> Option<String> {
    let all: Vec<&Left> = report.left_out.iter().chain(&report.histories.left_out).collect();
    if all.is_empty() {
        return None;
    }
    let lines =
        grouped(&all).into_iter().take(LEFT_OUT_MAX).map(|words| format!("  {}", wrap(&words, style.columns() - 2, 2)));
    let mut lines: Vec<String> = lines.collect();
    let groups = grouped(&all).len();
    if groups > LEFT_OUT_MAX {
        lines.push(format!("  and {} others", groups - LEFT_OUT_MAX));
    }
    Some(format!("{}\n{}", strong("Left out:"), lines.join("\n")))
}

/// Describes what is left out, one line for each reason.
pub(crate) fn grouped(left: &[&Left]) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for one in left {
        let name = if one.row.is_empty() { one.run.clone() } else { format!("{} of {}", one.row, one.run) };
        match groups.iter_mut().find(|(reason, _)| *reason == one.reason) {
            Some((_, names)) => names.push(name),
            None => groups.push((&one.reason, vec![name])),
        }
    }
    groups.into_iter().map(|(reason, names)| format!("{}: {reason}", short_list(&names, 3))).collect()
}

/// States the method and its rates of error.
pub(crate) fn method(report: &HistoryReport<'_>) -> String {
    let alpha = units::percent(report.rules.alpha);
    let family = match report.histories.tested {
        0 | 1 => String::new(),
        lines => format!(
            " The {lines} lines are judged together: of those called changed, at most {alpha} are expected to be wrong."
        ),
    };
    let against = match report.histories.shared.is_empty() {
        true => "",
        false => ", both against what all rows of the machine have in common",
    };
    format!(
        "Change points by E-divisive on ranks, with p-values of random orders of the runs: a history without a change has one \
         with probability at most {alpha}.{family} A change is the ratio of the runs after it to those before it{against}, by Hodges and \
         Lehmann, with the interval that `compare` has; it matters from {} on. Machines and definitions of a row are lines \
         of their own.",
        units::percent(report.rules.minimum_effect)
    )
}

#[cfg(test)]
mod tests;
