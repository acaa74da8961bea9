//! What all rows of a machine have in common from run to run. Called by the history.
//!
//! A machine is faster in some runs than in others: its clock, its hypervisor, an update of its system. Every row moves
//! with it, and each would have the same change points. The level of a run is the median over rows of their deviations
//! from their own medians (Tukey's median polish). Rows are searched for changes after it was subtracted.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::{Entry, Pending};
use crate::compare::movement::{ROWS_MIN, towards_better};
use crate::estimate::median;
use crate::origin::Origin;
use crate::schema::MetricResult;
use crate::sorting::Arrange;

/// Rows are polished this many times. Two are enough where every run has every row.
const POLISHED: usize = 6;

/// Logarithms, each with the number of its run or row.
type Numbered = Vec<(usize, f64)>;

/// The figures of rows that are not shown.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// The number of each row by its name and definition.
    rows: BTreeMap<(String, String), usize>,
    /// The logarithms of each run, by the number of the row.
    runs: Vec<(Arc<Origin>, Numbered)>,
}

/// A run is known by the place of its origin in memory.
fn key(origin: &Arc<Origin>) -> usize {
    Arc::as_ptr(origin) as usize
}

fn speed(metric: &MetricResult) -> f64 {
    towards_better(metric.metric.better, metric.estimate.median.ln())
}

impl Beside {
    /// Adds the figure of a row in a run. The figures of a run follow each other.
    pub fn add(&mut self, origin: &Arc<Origin>, row: &str, definition_version: u32, metric: &MetricResult) {
        let count = self.rows.len();
        let row = *self.rows.entry((row.to_owned(), definition_version.to_string())).or_insert(count);
        if self.runs.last().is_none_or(|(last, _)| !Arc::ptr_eq(last, origin)) {
            self.runs.push((Arc::clone(origin), Vec::new()));
        }
        if let Some((_, figures)) = self.runs.last_mut() {
            figures.push((row, speed(metric)));
        }
    }
}

/// What the rows of a machine have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shared {
    /// The host.
    pub host: String,
    /// The number of rows, those that are not shown among them.
    pub rows: usize,
    /// How much faster all rows were in the fastest run than in the slowest one: a ratio.
    pub range: f64,
    /// The name of the slowest run.
    pub slowest: String,
    /// The name of the fastest run.
    pub fastest: String,
}

/// The runs of a machine, and its rows in them.
struct Machine<'a> {
    /// A line of it.
    line: &'a Pending,
    /// The key and the name of each run, in the order of the keys.
    runs: Vec<(usize, &'a str)>,
    /// The level of each run, as a logarithm around 0; `None` of a run with too few rows.
    levels: Vec<Option<f64>>,
    /// The number of rows.
    rows: usize,
}

impl Pending {
    fn is_of(&self, other: &Pending) -> bool {
        (self.host, &self.machine.cpu, self.machine.cpus) == (other.host, &other.machine.cpu, other.machine.cpus)
    }
}

/// Finds what the lines of each machine have in common, and the level of each run of each line: 0 where the machine has too few rows.
pub(super) fn shared(lines: &[Vec<Pending>], beside: &Beside) -> (Vec<Shared>, Vec<Vec<f64>>) {
    let mut machines: Vec<Machine<'_>> = Vec::new();
    for line in lines.iter().flatten() {
        if !machines.iter().any(|machine| machine.line.is_of(line)) {
            machines.push(Machine::of(line, lines, beside));
        }
    }
    let of_line = |line: &Pending| -> Option<Vec<f64>> {
        let machine = machines.iter().find(|machine| machine.line.is_of(line))?;
        let of_run = |(_, _, entry): &(usize, String, Entry)| {
            let level = machine.levels[machine.run(key(&entry.origin))?]?;
            Some(towards_better(entry.metric.metric.better, level))
        };
        // A line of which some runs have a level and others none would have steps between them.
        line.entries.iter().map(of_run).collect()
    };
    let levels = lines.iter().flatten().map(|line| of_line(line).unwrap_or_else(|| vec![0.0; line.entries.len()]));
    (machines.iter().filter_map(Machine::described).collect(), levels.collect())
}

impl<'a> Machine<'a> {
    fn of(line: &'a Pending, lines: &'a [Vec<Pending>], beside: &Beside) -> Machine<'a> {
        let own = || lines.iter().flatten().filter(|other| other.is_of(line));
        let entries = own().flat_map(|line| &line.entries);
        let mut runs: Vec<(usize, &str)> =
            entries.map(|(_, _, entry)| (key(&entry.origin), entry.origin.run.as_str())).collect();
        runs.arrange_by_key(|run| run.0);
        runs.dedup();
        let mut machine = Machine { line, levels: vec![Some(0.0); runs.len()], runs, rows: 0 };
        let mut rows: Vec<Numbered> = vec![Vec::new(); beside.rows.len()];
        for (origin, figures) in &beside.runs {
            let Some(run) = machine.run(key(origin)) else { continue };
            figures.iter().for_each(|&(row, figure)| rows[row].push((run, figure)));
        }
        rows.extend(own().map(|line| {
            let of_run =
                |(_, _, entry): &(usize, String, Entry)| Some((machine.run(key(&entry.origin))?, speed(&entry.metric)));
            line.entries.iter().filter_map(of_run).collect()
        }));
        // A row of a single run says nothing about levels.
        rows.retain(|row| row.len() > 1);
        machine.rows = rows.len();
        for _ in 0..POLISHED {
            machine.polish(&rows);
        }
        machine
    }

    /// Returns the number of a run.
    fn run(&self, key: usize) -> Option<usize> {
        self.runs.binary_search_by_key(&key, |run| run.0).ok()
    }

    /// Takes the medians of rows, without the levels, and then those of runs, without the rows' own.
    fn polish(&mut self, rows: &[Numbered]) {
        let mut of_run: Vec<Vec<f64>> = vec![Vec::new(); self.runs.len()];
        for row in rows {
            let rest: Vec<f64> = row.iter().filter_map(|&(run, value)| Some(value - self.levels[run]?)).collect();
            let Some(own) = median(&rest) else { continue };
            row.iter().for_each(|&(run, value)| of_run[run].push(value - own));
        }
        self.levels = of_run.iter().map(|run| median(run).filter(|_| run.len() >= ROWS_MIN)).collect();
    }

    fn described(&self) -> Option<Shared> {
        let known = || self.levels.iter().zip(&self.runs).filter_map(|(level, run)| Some(((*level)?, run.1)));
        let (low, slowest) = known().min_by(|one, other| one.0.total_cmp(&other.0))?;
        let (high, fastest) = known().max_by(|one, other| one.0.total_cmp(&other.0))?;
        let [host, slowest, fastest] = [self.line.machine.host.as_str(), slowest, fastest].map(str::to_owned);
        Some(Shared { host, rows: self.rows, range: (high - low).exp(), slowest, fastest })
    }
}

#[cfg(test)]
mod tests;
