//! The cost of tracing: the two tables of the published report (workloads, and rows of LMbench, by configuration), with
//! further facts of the run and of its events. Drawn by the terminal and by the HTML page.

use headwater_results::overhead::{Arm, Cost, Finding, Line, NULL, Overhead, PROBE, WORKLOAD};
use headwater_results::schema::Run;

use crate::grid::{self, Cell, Grid};
use crate::rows::unique;
use crate::units;

mod report;

pub(crate) use report::Report;

/// The title of the tables.
pub(crate) const TITLE: &str = "What tracing costs";

/// The definition of a figure.
pub(crate) const DEFINITION: &str = "Each configuration over `off`, paired within blocks: the change with its interval. `resolution` is how far \
     `off` differs from itself when it is measured twice. A figure stands where the change is at least that, and at least 2 %; \
     `below` says that none so large is there, `open` that this run cannot tell, and about how many blocks more would; what the \
     events predict is named before.";

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// The caption.
    pub caption: &'static str,
    /// The explanation of its columns; may be empty.
    pub words: String,
    /// The table.
    pub grid: Grid,
}

const OLD: &str = "2002: the report on the Linux Trace Toolkit, which has no intervals";

const LAUNCH: &str = "Medians; best: the shortest launch. ns/event: by how much an event makes a loop of getppid slower in the same run, or \
                      of a program's own events a loop of those. predicted: that times the events, as a share of the wall time of \
                      `off`. CPU time is that of the command and its children.";

const WHOLE_MACHINE: &str = " Events of the kernel are those of the whole machine, so what they predict is a bound.";

const JOINING: &str = " Joining a session, which a process does at its first event, is not in it.";

const OTHERS: &str = " Other tracers count from their own start, which predicts nothing.";

/// Returns the tables that have lines; `plus_minus` is the sign.
pub(crate) fn tables(overhead: &Overhead, run: &Run, plus_minus: &str) -> Vec<Table> {
    let report = Report::beside(run);
    let workloads = overhead.of_pattern(WORKLOAD);
    let rows = rows_of_lmbench(overhead);
    let changes = |caption, lines: &[&Line]| {
        let words = if report.has(lines) { format!("{OLD}, {}.", report.machine) } else { String::new() };
        Table { caption, words, grid: costs(lines, &report, plus_minus) }
    };
    let tables = [
        changes("Workloads by configuration: change of wall time and of CPU time.", &workloads),
        Table {
            caption: "What happened in a launch of a workload.",
            words: launch_words(&workloads, run),
            grid: launches(&workloads),
        },
        changes("Rows of LMbench by configuration: change of the figure.", &rows),
    ];
    tables.into_iter().filter(|table| !table.grid.lines.is_empty()).collect()
}

/// Returns the rows of LMbench, each with its own figure.
pub(crate) fn rows_of_lmbench(overhead: &Overhead) -> Vec<&Line> {
    let is_own = |line: &Line| !["lmbench_value", "one_way"].contains(&line.metric.name.as_str());
    overhead.lines.iter().filter(|line| is_own(line) && line.pattern != WORKLOAD && line.pattern != PROBE).collect()
}

/// Returns what has a place in a chart: the wall time of each workload, and the rows of LMbench.
pub(crate) fn main_lines(overhead: &Overhead) -> Vec<&Line> {
    let walls = overhead.lines.iter().filter(|line| line.pattern == WORKLOAD && line.metric.name == "elapsed");
    walls.chain(rows_of_lmbench(overhead)).collect()
}

/// Returns the configurations that some line has.
pub(crate) fn measured<'a>(lines: &[&'a Line]) -> Vec<&'a str> {
    let arms = lines.iter().flat_map(|line| &line.arms);
    unique(arms.filter(|arm| arm.cost.is_some() && arm.name != NULL).map(|arm| arm.name.as_str()))
}

fn costs(lines: &[&Line], report: &Report, plus_minus: &str) -> Grid {
    let names = measured(lines);
    let old = report.has(lines);
    let heads = ["off"].into_iter().chain(names.iter().copied()).chain(["resolution"]);
    let heads = heads.chain(if old { &["2002 A", "2002 C", "2002 D"][..] } else { &[] }.iter().copied());
    let line = |row: &&Line| {
        let off = row.off.map_or_else(none, |off| units::quantity(off.median, &row.metric.unit));
        let mut cells = vec![Cell::plain(off)];
        let arm = |name: &&str| row.arms.iter().find(|arm| arm.name == **name).map(|arm| cell(arm, row));
        cells.extend(names.iter().map(|name| arm(name).unwrap_or_else(|| Cell::plain(none()))));
        let sign = |share: f64| if share < 1.0 { plus_minus } else { "" };
        let resolution = row.resolution.map(|share| format!("{}{}", sign(share), least(share)));
        cells.push(Cell::plain(resolution.unwrap_or_else(|| "none".to_owned())));
        if old {
            let before = report.figure(row, "a");
            let before = before.map_or_else(none, |(value, metric)| units::quantity(value, &metric.unit));
            let text = |configuration| report.cost(row, configuration).map_or_else(none, change);
            cells.extend([before, text("c"), text("d")].map(Cell::plain));
        }
        grid::Line { label: label(row), is_quiet: false, cells }
    };
    Grid {
        corner: "row".to_owned(),
        heads: heads.map(str::to_owned).collect(),
        lines: lines.iter().map(line).collect(),
    }
}

/// Returns the text of an empty cell.
fn none() -> String {
    "-".to_owned()
}

pub(crate) fn label(row: &Line) -> String {
    match (row.pattern.as_str(), row.metric.name.as_str()) {
        (WORKLOAD, "elapsed") => format!("{}, wall", row.subject),
        (WORKLOAD, "cpu") => format!("{}, CPU", row.subject),
        _ => row.subject.clone(),
    }
}

/// Returns the cell of an arm. A figure is shown only if the null arm supports one.
fn cell(arm: &Arm, row: &Line) -> Cell {
    let open = |more: Option<u32>| more.map_or_else(|| "open".to_owned(), |more| format!("open, {more} more"));
    // The prediction is the only figure where the measured one is not known.
    let with_predicted = |verdict: String| match arm.predicted {
        Some(predicted) => Cell::plain(format!("predicted {}; {verdict}", share(predicted))),
        None => Cell::plain(verdict),
    };
    match (&arm.finding, arm.cost) {
        (Finding::Found, Some(Cost { times, low, high, .. })) => {
            Cell { spread: format!("[{}, {}]", change(low), change(high)), ..Cell::plain(change(times)) }
        }
        (Finding::Below, _) => {
            with_predicted(format!("below {}", row.minimum_effect.map(least).unwrap_or_default()).trim_end().to_owned())
        }
        (Finding::Open { more_blocks }, _) => with_predicted(open(*more_blocks)),
        (Finding::Found, None) => Cell::plain(open(None)),
        // The null arm has one launch only, which is too few.
        (Finding::Unsupported, _) if row.arms.iter().any(|arm| arm.name == NULL && arm.value.is_some()) => {
            Cell::plain(open(None))
        }
        (Finding::Unsupported, _) => Cell::plain("no null arm"),
        (Finding::Null, _) => Cell::plain(""),
        (Finding::Absent { .. }, _) => Cell::plain(none()),
    }
}

/// Formats a factor as a change in percent, or as a factor if it is 2 or more.
pub(crate) fn change(times: f64) -> String {
    if times >= 2.0 {
        return format!("{} x", units::significant(times));
    }
    let text = units::percent(times - 1.0);
    // `< 0.01 %` already has a sign.
    if times > 1.0 && !text.starts_with('<') { format!("+{text}") } else { text }
}

/// Formats the smallest change that could be detected; from a doubling on as a factor.
pub(crate) fn least(share: f64) -> String {
    if share < 1.0 { units::percent(share) } else { change(1.0 + share) }
}

/// Returns a line for each workload under each configuration.
fn launches(lines: &[&Line]) -> Grid {
    let heads = ["wall", "best", "CPU", "best", "events", "lost", "ns/event", "predicted"];
    let mut drawn = Vec::new();
    for subject in unique(lines.iter().map(|line| line.subject.as_str())) {
        let of = |metric: &str| lines.iter().find(|line| line.subject == subject && line.metric.name == metric);
        let (Some(wall), cpu) = (of("elapsed"), of("cpu")) else { continue };
        let time = |value: Option<f64>| value.map_or_else(none, |s| units::quantity(s, "s"));
        let of_off = |line: &Line| [line.off.map(|off| off.median), line.off_best];
        let times = [wall].into_iter().chain(cpu).flat_map(|line| of_off(line)).map(time);
        drawn.push((format!("{subject}, off"), times.collect::<Vec<_>>()));
        for (at, arm) in wall.arms.iter().enumerate().filter(|(_, arm)| arm.value.is_some()) {
            let cpu = cpu.and_then(|line| line.arms.get(at));
            let of_arm = |arm: &Arm| [arm.value.map(|value| value.median), arm.value_best];
            let times = [arm].into_iter().chain(cpu).flat_map(of_arm).map(time);
            let counts = [arm.events, arm.lost].map(|count| count.map_or_else(none, units::grouped));
            let rest = [arm.event_ns.map_or_else(none, units::significant), arm.predicted.map_or_else(none, share)];
            drawn.push((format!("{subject}, {}", arm.name), times.chain(counts).chain(rest).collect()));
        }
    }
    let line = |(label, mut texts): (String, Vec<String>)| {
        texts.resize_with(heads.len(), none);
        grid::Line { label, is_quiet: false, cells: texts.into_iter().map(Cell::plain).collect() }
    };
    Grid {
        corner: "launch".to_owned(),
        heads: heads.map(str::to_owned).into(),
        lines: drawn.into_iter().map(line).collect(),
    }
}

/// Formats an increase in percent.
fn share(share: f64) -> String {
    if share > 0.0 { change(1.0 + share) } else { units::percent(share) }
}

fn launch_words(lines: &[&Line], run: &Run) -> String {
    let arms = || lines.iter().flat_map(|line| &line.arms);
    let is_whole_machine =
        !run.header.command.iter().take_while(|word| *word != "--").any(|word| word == "--command-only");
    let of_kernel = |arm: &Arm| ["flight", "drain"].contains(&arm.name.as_str()) && arm.predicted.is_some();
    let whole = if is_whole_machine && arms().any(of_kernel) { WHOLE_MACHINE } else { "" };
    let others = if arms().any(|arm| arm.events.is_some() && !arm.is_counted_exactly) { OTHERS } else { "" };
    let of_user = |arm: &Arm| arm.name.starts_with("user-") && arm.predicted.is_some_and(|share| share > 0.0);
    let joining = if arms().any(of_user) { JOINING } else { "" };
    format!("{LAUNCH}{whole}{joining}{others}")
}

/// Returns the configurations that were not measured, each with its reason, once.
pub(crate) fn absent(overhead: &Overhead) -> Vec<String> {
    let arms = overhead.lines.iter().filter(|line| line.pattern == WORKLOAD).flat_map(|line| &line.arms);
    let reasons = arms.filter_map(|arm| match &arm.finding {
        Finding::Absent { reason } => Some(format!("{}: {reason}.", arm.name)),
        _ => None,
    });
    unique(reasons)
}

#[cfg(test)]
mod tests;
