//! Entries as lines of JSON, in which what many entries have in common is written once. `headwater-archive` writes them
//! and `headwater` reads them: a history of a thousand runs must not cost a thousand whole runs.
//!
//! The writer begins with all rows that the archive knows. The reader answers with one line, the ids of those that it wants
//! ([`wanted`]), because only it knows the user's filters. Then come the figures.
//!
//! Both are pure: a [`Writer`] returns lines, a [`Reader`] takes them. Lines come from another program, so a reader
//! trusts none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Entry, Left, Machine, with_labels};
use crate::estimate::Estimate;
use crate::schema::{MetricResult, Row};

/// The version of the lines. A reader refuses every other one.
pub const VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The first line.
    Version(u32),
    /// Facts that lines of runs refer to, without labels: so many runs have the same.
    Facts { id: i64, facts: Arc<BTreeMap<String, String>> },
    /// A row that lines of figures refer to.
    Row { id: i64, row: Arc<Row> },
    /// There are no further rows: the writer waits for the ids of those that are wanted.
    RowsEnd,
    /// A run that lines of figures refer to.
    Run { id: i64, run: RunLine },
    /// A figure of a row in a run.
    Figure { run: i64, row: i64, estimate: Estimate, launches: Vec<f64>, blocks: Vec<u32> },
    /// A row of a run without a figure.
    Left { run: i64, row: i64, reason: String },
    /// The last line.
    End,
}

/// What all entries of a run have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunLine {
    /// The name of the run.
    pub name: String,
    /// Identifies the run, whatever it is called.
    pub run_id: String,
    /// The time at which it began, RFC 3339.
    pub started_at: String,
    /// The machine.
    pub machine: Machine,
    /// The program that measured.
    pub program: String,
    /// The labels of the run.
    pub labels: Arc<BTreeMap<String, String>>,
    /// The id of its facts.
    pub facts: i64,
}

/// A figure, without the row and the run that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Median over launches with its interval.
    pub estimate: Estimate,
    /// One value per launch.
    pub launches: Vec<f64>,
    /// The block of each launch.
    pub blocks: Vec<u32>,
}

/// What a line means to the reader.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// Something that other lines refer to.
    Reference,
    /// All rows are known: the writer waits for the line of [`wanted`].
    RowsEnd,
    /// An entry.
    Entry(Box<Entry>),
    /// A row of a run without a figure.
    Left(Left),
    /// Nothing is missing.
    End,
}

/// Returns the reader's line: the ids of the rows that are wanted.
pub fn wanted(rows: &[i64]) -> String {
    format!("{rows:?}\n")
}

/// Reads the line of [`wanted`].
///
/// # Errors
/// What is wrong with it.
pub fn read_wanted(line: &str) -> Result<Vec<i64>, String> {
    serde_json::from_str(line).map_err(|error| error.to_string())
}

/// Writes entries as lines.
#[derive(Debug, Default)]
pub struct Writer {
    lines: String,
    facts: BTreeSet<i64>,
    rows: BTreeSet<i64>,
    runs: BTreeSet<i64>,
}

impl Writer {
    /// Returns a writer whose first line says the version.
    pub fn new() -> Writer {
        let mut writer = Writer::default();
        writer.push(&Line::Version(VERSION));
        writer
    }

    /// Writes facts, once for each id.
    pub fn facts(&mut self, id: i64, facts: impl FnOnce() -> BTreeMap<String, String>) {
        if self.facts.insert(id) {
            self.push(&Line::Facts { id, facts: Arc::new(facts()) });
        }
    }

    /// Writes a row, once for each id.
    pub fn row(&mut self, id: i64, row: &Arc<Row>) {
        if self.rows.insert(id) {
            self.push(&Line::Row { id, row: Arc::clone(row) });
        }
    }

    /// Says that all rows were written.
    pub fn rows_end(&mut self) {
        self.push(&Line::RowsEnd);
    }

    /// Writes a run, once for each id.
    pub fn run(&mut self, id: i64, run: impl FnOnce() -> RunLine) {
        if self.runs.insert(id) {
            self.push(&Line::Run { id, run: run() });
        }
    }

    /// Writes the figure of a row in a run, both of which were written before; or why there is none.
    pub fn figure(&mut self, run: i64, row: i64, figure: Result<Figure, String>) {
        self.push(&match figure {
            Ok(Figure { estimate, launches, blocks }) => Line::Figure { run, row, estimate, launches, blocks },
            Err(reason) => Line::Left { run, row, reason },
        });
    }

    /// Returns the lines since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.lines)
    }

    /// Returns the remaining lines, of which the last says that nothing is missing.
    pub fn finish(mut self) -> String {
        self.push(&Line::End);
        self.lines
    }

    fn push(&mut self, line: &Line) {
        self.lines.push_str(&serde_json::to_string(line).expect("plain data with text keys"));
        self.lines.push('\n');
    }
}

/// A run with its facts.
type KnownRun = (RunLine, Arc<BTreeMap<String, String>>);

/// Makes entries of lines.
#[derive(Debug, Default)]
pub struct Reader {
    is_begun: bool,
    facts: BTreeMap<i64, Arc<BTreeMap<String, String>>>,
    rows: BTreeMap<i64, Arc<Row>>,
    runs: BTreeMap<i64, KnownRun>,
}

impl Reader {
    /// Takes a line.
    ///
    /// # Errors
    /// What is wrong with the line, in words.
    pub fn line(&mut self, text: &str) -> Result<Heard, String> {
        let line: Line = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match (&line, self.is_begun) {
            (Line::Version(VERSION), false) => self.is_begun = true,
            (Line::Version(other), false) => return Err(format!("version {other} of the lines; {VERSION} is known")),
            (Line::Version(_), true) => return Err("a second version".to_owned()),
            (_, false) => return Err("no version before it".to_owned()),
            (_, true) => {}
        }
        match line {
            Line::Version(_) => {}
            Line::RowsEnd => return Ok(Heard::RowsEnd),
            Line::End => return Ok(Heard::End),
            Line::Facts { id, facts } => _ = self.facts.insert(id, facts),
            Line::Row { id, row } => _ = self.rows.insert(id, row),
            Line::Run { id, run } => {
                let facts = self.facts.get(&run.facts);
                let facts = facts.ok_or_else(|| format!("facts {} are not known", run.facts))?;
                let facts = match run.labels.is_empty() {
                    true => Arc::clone(facts),
                    false => Arc::new(with_labels(BTreeMap::clone(facts), &run.labels)),
                };
                self.runs.insert(id, (run, facts));
            }
            Line::Figure { run, row, estimate, launches, blocks } => {
                let figure = Figure { estimate, launches, blocks };
                return self.entry(run, row, figure).map(|entry| Heard::Entry(Box::new(entry)));
            }
            Line::Left { run, row, reason } => {
                let (run, row) = (self.known_run(run)?.0.name.clone(), self.known_row(row)?.id.clone());
                return Ok(Heard::Left(Left { run, row, reason }));
            }
        }
        Ok(Heard::Reference)
    }

    /// Returns the rows so far with their ids.
    pub fn rows(&self) -> impl Iterator<Item = (i64, &Row)> {
        self.rows.iter().map(|(id, row)| (*id, &**row))
    }

    /// Returns the runs so far.
    pub fn runs(&self) -> impl Iterator<Item = &RunLine> {
        self.runs.values().map(|(run, _)| run)
    }

    fn known_run(&self, id: i64) -> Result<&KnownRun, String> {
        self.runs.get(&id).ok_or_else(|| format!("run {id} is not known"))
    }

    fn known_row(&self, id: i64) -> Result<&Arc<Row>, String> {
        self.rows.get(&id).ok_or_else(|| format!("row {id} is not known"))
    }

    fn entry(&self, run: i64, row: i64, figure: Figure) -> Result<Entry, String> {
        let ((run, facts), row) = (self.known_run(run)?, self.known_row(row)?);
        let metric = row.metrics.first().ok_or_else(|| format!("{} has no metric", row.id))?.clone();
        let Figure { estimate, launches, blocks } = figure;
        if !(estimate.median.is_finite() && estimate.median > 0.0) || launches.len() != blocks.len() {
            return Err(format!("no figure of {}: {estimate:?}", row.id));
        }
        Ok(Entry {
            run: run.name.clone(),
            run_id: run.run_id.clone(),
            started_at: run.started_at.clone(),
            machine: run.machine.clone(),
            program: run.program.clone(),
            labels: Arc::clone(&run.labels),
            row: Arc::clone(row),
            metric: MetricResult { metric, estimate, launches, blocks },
            facts: Arc::clone(facts),
        })
    }
}

#[cfg(test)]
mod tests;
