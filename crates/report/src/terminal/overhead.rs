//! What tracing costs: the two tables of the old report (workloads, and rows of LMbench, by configuration), with what this run
//! can tell beside, and what the events were.

use headwater_results::overhead::{
    Arm, Cost, Finding, LOST, Line as Row, NULL, Overhead, PROBE, WORKLOAD, is_overhead,
};
use headwater_results::published;
use headwater_results::schema::{Better, RowResult, Run};

use super::Section;
use super::frame::{captioned, titled};
use super::page::Page;
use crate::grid::{Cell, Grid, Line};
use crate::rows::unique;
use crate::text::wrap;
use crate::units;

/// In the table of sections.
pub(super) const SECTION: Section = Section { patterns: &[PROBE], draw };

const TITLE: &str = "What tracing costs";

const DEFINITION: &str = "Each configuration over `off`, paired within blocks: the change with its interval. `resolution` is how far \
                          `off` measured twice differs from itself. A figure stands where a change of at least that, and of at \
                          least 2 %, is there; `below` that none so large is there; `open` that this run cannot tell, and about \
                          how many blocks more would. 2002: the report on the Linux Trace Toolkit, without intervals.";

fn draw(page: &Page<'_>) -> Option<String> {
    let Page { run, style, .. } = page;
    if !is_overhead(run) {
        return None;
    }
    let overhead = Overhead::of(run);
    let mut parts = Vec::new();
    let workloads = overhead.of_pattern(WORKLOAD);
    if !workloads.is_empty() {
        parts.push(captioned(
            "Workloads by configuration: wall time, CPU time.",
            &costs(&workloads, &overhead).draw(style),
            style,
        ));
        parts.push(captioned(
            "What happened in a launch (medians; best is the shortest launch). Predicted: events times the cost of an event by a \
             loop of getppid in the same run, over the time of `off`; events of the whole machine count, so it is a bound. Other \
             tracers count from their own start on, so they predict nothing; CPU time is the command's, not the tracer's.",
            &events(&workloads).draw(style),
            style,
        ));
    }
    let rows: Vec<&Row> = overhead.lines.iter().filter(is_row).collect();
    if !rows.is_empty() {
        parts.push(captioned("Rows of LMbench by configuration.", &costs(&rows, &overhead).draw(style), style));
    }
    let absent = absent(&overhead);
    parts.extend((!absent.is_empty()).then(|| wrap(&absent.join(" "), style.columns(), 0)));
    Some(format!("{}\n{}", titled(TITLE, DEFINITION, style), parts.join("\n\n")))
}

/// Whether it is a row of the run that was a workload, by its own figure.
fn is_row(line: &&Row) -> bool {
    let is_own = !["lmbench_value", "one_way"].contains(&line.metric.name.as_str());
    is_own && line.pattern != WORKLOAD && line.pattern != PROBE
}

/// The configurations that some line has.
fn measured<'a>(lines: &[&'a Row]) -> Vec<&'a str> {
    let arms = lines.iter().flat_map(|line| &line.arms);
    unique(arms.filter(|arm| arm.cost.is_some() && arm.name != NULL).map(|arm| arm.name.as_str()))
}

fn costs(lines: &[&Row], overhead: &Overhead) -> Grid {
    let names = measured(lines);
    let old = lines.iter().any(|line| published(line, "c").is_some());
    let heads = ["off"].into_iter().chain(names.iter().copied()).chain(["resolution"]);
    let heads = heads.chain(if old { &["2002 C", "2002 D"][..] } else { &[] }.iter().copied());
    let line = |row: &&Row| {
        let off = row.off.map_or_else(|| "-".to_owned(), |off| units::quantity(off.median, &row.metric.unit));
        let mut cells = vec![Cell::plain(off)];
        let arm = |name: &&str| {
            let arm = row.arms.iter().find(|arm| arm.name == **name);
            arm.map_or_else(|| Cell::plain("-"), |arm| cell(arm, row.minimum_effect))
        };
        cells.extend(names.iter().map(arm));
        let resolution =
            row.resolution.map_or_else(|| "none".to_owned(), |share| format!("+-{}", units::percent(share)));
        cells.push(Cell::plain(resolution));
        if old {
            let text = |configuration| published(row, configuration).map_or_else(|| "-".to_owned(), change);
            cells.extend(["c", "d"].map(|configuration| Cell::plain(text(configuration))));
        }
        Line { label: label(row), is_quiet: false, cells }
    };
    let corner = if overhead.lines.is_empty() { "" } else { "row" };
    Grid {
        corner: corner.to_owned(),
        heads: heads.map(str::to_owned).collect(),
        lines: lines.iter().map(line).collect(),
    }
}

fn label(row: &Row) -> String {
    match (row.pattern.as_str(), row.metric.name.as_str()) {
        (WORKLOAD, "elapsed") => format!("{}, wall", row.subject),
        (WORKLOAD, "cpu") => format!("{}, CPU", row.subject),
        _ => row.subject.clone(),
    }
}

/// What may be said of an arm; a figure only where the null arm supports one.
fn cell(arm: &Arm, minimum_effect: Option<f64>) -> Cell {
    match (&arm.finding, arm.cost) {
        (Finding::Found, Some(Cost { times, low, high, .. })) => {
            Cell { spread: format!("[{}, {}]", change(low), change(high)), ..Cell::plain(change(times)) }
        }
        (Finding::Below, _) => {
            let least = minimum_effect.map(units::percent);
            Cell::plain(least.map_or_else(|| "below".to_owned(), |least| format!("below {least}")))
        }
        (Finding::Open { more_blocks: Some(more) }, _) => Cell::plain(format!("open, {more} more")),
        (Finding::Open { more_blocks: None } | Finding::Found, _) => Cell::plain("open"),
        (Finding::Unsupported, _) => Cell::plain("no null arm"),
        (Finding::Null, _) => Cell::plain(""),
        (Finding::Absent { .. }, _) => Cell::plain("-"),
    }
}

/// A factor as a change in percent, or as a factor where it is 2 or more.
fn change(times: f64) -> String {
    if times >= 2.0 {
        return format!("{} x", units::significant(times));
    }
    let text = units::percent(times - 1.0);
    if times > 1.0 { format!("+{text}") } else { text }
}

fn events(lines: &[&Row]) -> Grid {
    let heads = ["median", "best", "events", LOST, "ns/event", "predicted"];
    let mut drawn = Vec::new();
    for row in lines {
        let quantity = |value: f64| units::quantity(value, &row.metric.unit);
        let text = |value: Option<f64>, text: &dyn Fn(f64) -> String| value.map_or_else(|| "-".to_owned(), text);
        let count = |value: f64| units::grouped(value);
        let off = row.off.map(|off| [Some(off.median), row.off_best]);
        let line = |name: &str, [median, best]: [Option<f64>; 2], rest: Vec<String>| {
            let values = [text(median, &quantity), text(best, &quantity)];
            let cells = values.into_iter().chain(rest).map(Cell::plain).collect();
            Line { label: format!("{} {name}", label(row)), is_quiet: false, cells }
        };
        drawn.extend(off.map(|values| line("off", values, vec!["-".to_owned(); 4])));
        for arm in row.arms.iter().filter(|arm| arm.value.is_some()) {
            let rest = vec![
                text(arm.events, &count),
                text(arm.lost, &count),
                text(arm.event_ns, &units::significant),
                text(arm.predicted, &|share| format!("+{}", units::percent(share))),
            ];
            drawn.push(line(&arm.name, [arm.value.map(|value| value.median), arm.value_best], rest));
        }
    }
    Grid { corner: "launch".to_owned(), heads: heads.map(str::to_owned).into(), lines: drawn }
}

/// What the old report's row cost in a configuration over A.
fn published(row: &Row, configuration: &str) -> Option<f64> {
    if row.metric.name == "cpu" {
        return None;
    }
    let (table, machine) = if row.pattern == WORKLOAD { ("workloads", "smp4") } else { ("ltt", "up") };
    let value = |run: &Run| {
        let is_it = |result: &&RowResult| result.row.subject == row.subject && result.row.pattern == row.pattern;
        let own = run.results.iter().find(is_it)?.metrics.first()?;
        Some((own.estimate.median, own.metric.better))
    };
    let (off, better) = value(&published::run(table, &format!("{machine}-a"))?)?;
    let (on, _) = value(&published::run(table, &format!("{machine}-{configuration}"))?)?;
    Some(if better == Better::Lower { on / off } else { off / on })
}

/// Configurations that were not measured, each with its reason once.
fn absent(overhead: &Overhead) -> Vec<String> {
    let arms = overhead.lines.iter().filter(|line| line.pattern == WORKLOAD).flat_map(|line| &line.arms);
    let reasons = arms.filter_map(|arm| match &arm.finding {
        Finding::Absent { reason } => Some(format!("{}: {reason}.", arm.name)),
        _ => None,
    });
    unique(reasons)
}

#[cfg(test)]
mod tests;
