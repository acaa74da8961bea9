//! Patterns of use compared with the kernel's pipe: each figure with its ratio to the pipe's in the same blocks, and a
//! verdict in words. Drawn by the terminal and by the HTML page; the verdict of a run uses the same words.

use headwater_results::compare::ratio::{Ratios, Sample};
use headwater_results::compare::{ALPHA, MINIMUM_EFFECT, Ratio};
use headwater_results::schema::{Better, MetricResult, RowResult, Run};

use crate::grid::{Cell, Grid, Line};
use crate::operations::CellFilling;
use crate::{rows, units};

/// The patterns and facilities of the tables, in their order.
pub(crate) const PATTERNS: [&str; 16] = [
    "rtt-two-channels",
    "paced-100",
    "paced-1000",
    "paced-10000",
    "pairs-stream",
    "pairs-rtt",
    "epoll-level",
    "epoll-edge",
    "poll-both-ways",
    "open-close",
    "open-byte-close",
    "fifo-open-close",
    "fork-100",
    "descriptors",
    "memory-idle",
    "killed-reader",
];

/// The title of the tables.
pub(crate) const TITLE: &str = "Patterns of use";

/// The explanation of the columns.
pub(crate) const DEFINITION: &str = "Median over launches, and CPU time of all processes per message. times: how many times as \
                                     good as the pipe (FIFOs: as the kernel's FIFO) in the same blocks, above 1 is better. \
                                     x CPU: CPU time over the pipe's, below 1 is better.";

/// The possible references, the first one that was measured is used, with their names in a sentence.
const REFERENCES: [(&str, &str); 2] = [("pipe", "a pipe"), ("fifo", "a FIFO")];

/// The metric of CPU time per message.
const CPU: &str = "cpu";

/// CPU time up to this multiple of the pipe's is not mentioned.
const CPU_TIMES_MAX: f64 = 1.1;

/// A ratio of paired launches and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Times {
    value: f64,
    low: f64,
    high: f64,
}

/// A row with its ratios to the reference.
#[derive(Clone, Debug)]
pub(crate) struct PairedRow<'a> {
    /// The row.
    pub result: &'a RowResult,
    /// How many times as good as the reference its own figure is.
    pub times: Option<Times>,
    /// CPU time relative to the reference.
    pub cpu_times: Option<Times>,
    /// The verdict in words: `slower than a pipe`.
    pub words: Option<String>,
    /// Whether the verdict is that it is worse.
    pub is_worse: bool,
    /// Whether its CPU time exceeds [`CPU_TIMES_MAX`].
    pub costs_more: bool,
}

/// Returns the rows of a pattern at one size, including the reference.
fn group<'a>(rows: &[&'a RowResult]) -> Vec<PairedRow<'a>> {
    let of = |name: &str| rows.iter().copied().find(|result| result.row.subject == name);
    let reference = REFERENCES.iter().find_map(|&(name, words)| Some((of(name)?, words)));
    let beside = |&result: &&'a RowResult| match reference {
        Some((reference, words)) if reference.row.id != result.row.id && rows::competes(result) => {
            judged(result, reference, words)
        }
        _ => plain(result),
    };
    rows.iter().map(beside).collect()
}

fn plain(result: &RowResult) -> PairedRow<'_> {
    PairedRow { result, times: None, cpu_times: None, words: None, is_worse: false, costs_more: false }
}

fn judged<'a>(result: &'a RowResult, reference: &RowResult, name: &str) -> PairedRow<'a> {
    let Some((own, other)) = rows::own(result).zip(rows::own(reference)) else { return plain(result) };
    let times =
        paired(own, other).map(|times| if own.metric.better == Better::Lower { times.inverse() } else { times });
    let cpu_times =
        rows::metric(result, CPU).zip(rows::metric(reference, CPU)).and_then(|(own, other)| paired(own, other));
    // If the reference counts zero, there is no ratio.
    let is_above_nothing = other.estimate.median == 0.0 && own.estimate.low > 0.0 && own.metric.better == Better::Lower;
    let is_worse = is_above_nothing || times.is_some_and(|times| times.high < 1.0 - MINIMUM_EFFECT);
    let is_better = times.is_some_and(|times| times.low > 1.0 + MINIMUM_EFFECT);
    let is_timed = matches!(own.metric.unit.as_str(), "messages/s" | "ns" | "us");
    let word = match (is_worse, is_better) {
        (true, _) => Some(if is_timed { "slower than" } else { "more than" }),
        (_, true) => Some(if is_timed { "faster than" } else { "less than" }),
        _ => None,
    };
    PairedRow {
        result,
        times,
        cpu_times,
        words: word.map(|word| format!("{word} {name}")),
        is_worse,
        costs_more: cpu_times.is_some_and(|times| times.low > CPU_TIMES_MAX),
    }
}

impl Times {
    fn inverse(self) -> Times {
        Times { value: 1.0 / self.value, low: 1.0 / self.high, high: 1.0 / self.low }
    }
}

/// Returns the ratio of `one` to `other` in the common blocks, with the arithmetic of every comparison. The ends are
/// absent if there are too few launches for an interval.
fn paired(one: &MetricResult, other: &MetricResult) -> Option<Times> {
    let of_block = |block: &u32| other.blocks.iter().position(|other| other == block).map(|at| other.launches[at]);
    let logs: Vec<f64> = (one.blocks.iter().zip(&one.launches))
        .filter_map(|(block, value)| Some((value / of_block(block)?).ln()))
        .filter(|log| log.is_finite())
        .collect();
    let Ratio { value, low, high, confidence, .. } = Ratios::default().of(&Sample::Paired(logs))?;
    let (low, high) = if confidence < 1.0 - ALPHA { (0.0, f64::INFINITY) } else { (low, high) };
    Some(Times { value, low, high })
}

/// Returns the groups of rows with one placement, each with its pattern and size.
pub(crate) fn groups<'a>(rows: &[&'a RowResult]) -> Vec<(&'static str, Option<u64>, Vec<PairedRow<'a>>)> {
    let mut groups = Vec::new();
    for pattern in PATTERNS {
        let of_pattern: Vec<&RowResult> = rows.iter().copied().filter(|result| result.row.pattern == pattern).collect();
        for size in rows::unique(of_pattern.iter().map(|result| result.row.size_bytes)) {
            let of_size: Vec<&RowResult> =
                of_pattern.iter().copied().filter(|result| result.row.size_bytes == size).collect();
            groups.push((pattern, size, group(&of_size)));
        }
    }
    groups
}

/// Returns all rows of the run that are in these tables.
pub(crate) fn measured(run: &Run) -> Vec<&RowResult> {
    rows::all_measured(run).filter(|result| PATTERNS.contains(&&*result.row.pattern)).collect()
}

/// Returns the name of a group: `paced-100, 64 B`.
pub(crate) fn name(pattern: &str, size: Option<u64>) -> String {
    match size {
        Some(bytes) => format!("{pattern}, {}", units::size_in_words(bytes)),
        None => pattern.to_owned(),
    }
}

/// Returns the table of rows with one placement.
pub(crate) fn grid(rows: &[&RowResult], filling: &CellFilling<'_>) -> Grid {
    let mut lines = Vec::new();
    for (pattern, size, group) in groups(rows) {
        lines.push(Line { label: format!("{}:", name(pattern, size)), is_quiet: true, cells: Vec::new() });
        lines.extend(group.iter().map(|beside| line(beside, filling)));
    }
    let heads = ["figure", "times", "CPU", "x CPU", "verdict"].map(str::to_owned).into();
    Grid { corner: "pattern, transport".to_owned(), heads, lines }
}

fn line(beside: &PairedRow<'_>, filling: &CellFilling<'_>) -> Line {
    let result = beside.result;
    let text = |found: Option<&MetricResult>| {
        found.map_or_else(|| "-".to_owned(), |found| units::quantity(found.estimate.median, &found.metric.unit))
    };
    let times =
        |times: Option<Times>| Cell::plain(times.map_or_else(String::new, |times| units::significant(times.value)));
    let spread = rows::own(result).map(|own| {
        let in_unit = |value: f64| units::quantity(value, &own.metric.unit);
        (filling.spread)(&own.estimate, &in_unit)
    });
    let own = Cell {
        spread: spread.unwrap_or_default(),
        marks: (filling.marks)(result),
        ..Cell::plain(text(rows::own(result)))
    };
    Line {
        label: format!("  {}", result.row.subject),
        is_quiet: !rows::competes(result),
        cells: vec![
            own,
            times(beside.times),
            Cell::plain(text(rows::metric(result, CPU))),
            times(beside.cpu_times),
            Cell::plain(beside.verdict()),
        ],
    }
}

impl PairedRow<'_> {
    /// Returns the verdict for the table. A row that is worse gets no words about CPU time, which the table shows
    /// anyway.
    fn verdict(&self) -> String {
        match (&self.words, self.costs_more && !self.is_worse) {
            (Some(words), false) => words.clone(),
            (Some(words), true) => format!("{}, more CPU", words.split(' ').next().unwrap_or_default()),
            (None, true) => "more CPU".to_owned(),
            (None, false) => String::new(),
        }
    }

    /// Returns how many times worse than the reference it is, above 1; `None` without a ratio.
    pub(crate) fn worse_by(&self) -> Option<f64> {
        self.times.map(|times| 1.0 / times.value)
    }
}

#[cfg(test)]
mod tests;
