//! Figures as lines of JSON, in which what many of them have in common is written once. `headwater-archive` writes them
//! and `headwater` reads them: a history or a comparison of a thousand runs must not cost a thousand whole runs.
//!
//! The writer begins with all rows that the archive knows. The reader answers with one line, the ids of those that it wants
//! ([`wanted`]), because only it knows the user's filters. Then come the figures.
//!
//! Both are pure: a [`Writer`] returns lines, a [`Reader`] takes them. Lines come from another program, so a reader
//! trusts none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::origin::Origin;
use crate::schema::{MetricResult, Row, oversized};

/// The version of the lines. A reader refuses every other one.
pub const VERSION: u32 = 2;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The first line.
    Version(u32),
    /// Facts that lines of runs refer to: many runs have the same.
    Facts { id: i64, facts: Arc<BTreeMap<String, String>> },
    /// A row that lines of figures refer to.
    Row { id: i64, row: Arc<Row> },
    /// There are no further rows: the writer waits for the ids of those that are wanted.
    RowsEnd,
    /// A run that lines of figures refer to.
    Run { id: i64, facts: i64, run: Origin },
    /// A figure of a row in a run.
    Figure { run: i64, row: i64, estimate: Estimate, launches: Vec<f64>, blocks: Vec<u32> },
    /// A row of a run without a figure.
    Left { run: i64, row: i64, reason: String },
    /// The last line.
    End,
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

/// A row of a run that the archive has.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The id of the run.
    pub run: i64,
    /// The run.
    pub origin: Arc<Origin>,
    /// The row.
    pub row: Arc<Row>,
    /// Its own figure, or the reason for which it has none.
    pub figure: Result<MetricResult, String>,
}

/// What a line means to the reader.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// Something that other lines refer to.
    Reference,
    /// All rows are known: the writer waits for the line of [`wanted`].
    RowsEnd,
    /// A row of a run.
    Found(Box<Found>),
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

/// Writes figures as lines.
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

    /// Writes a run, whose facts were written before, once for each id.
    pub fn run(&mut self, id: i64, facts: i64, run: Origin) {
        if self.runs.insert(id) {
            self.push(&Line::Run { id, facts, run });
        }
    }

    /// Whether a run was written.
    pub fn knows_run(&self, id: i64) -> bool {
        self.runs.contains(&id)
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

/// Makes figures of lines.
#[derive(Debug, Default)]
pub struct Reader {
    is_begun: bool,
    facts: BTreeMap<i64, Arc<BTreeMap<String, String>>>,
    rows: BTreeMap<i64, Arc<Row>>,
    runs: BTreeMap<i64, Arc<Origin>>,
}

impl Reader {
    /// Takes a line.
    ///
    /// # Errors
    /// What is wrong with the line, in words.
    pub fn line(&mut self, text: &str) -> Result<Heard, String> {
        if let Some((_, why)) = oversized(text) {
            return Err(why);
        }
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
            Line::Row { id, row } => {
                row.validate()?;
                self.rows.insert(id, row);
            }
            Line::Run { id, facts, run } => {
                let known = self.facts.get(&facts).ok_or_else(|| format!("facts {facts} are not known"))?;
                self.runs.insert(id, Arc::new(Origin { facts: Arc::clone(known), ..run }));
            }
            Line::Figure { run, row, estimate, launches, blocks } => {
                return self.found(run, row, Ok(Figure { estimate, launches, blocks }));
            }
            Line::Left { run, row, reason } => return self.found(run, row, Err(reason)),
        }
        Ok(Heard::Reference)
    }

    /// Returns the rows so far with their ids.
    pub fn rows(&self) -> impl Iterator<Item = (i64, &Row)> {
        self.rows.iter().map(|(id, row)| (*id, &**row))
    }

    fn found(&self, run: i64, row: i64, figure: Result<Figure, String>) -> Result<Heard, String> {
        let origin = self.runs.get(&run).ok_or_else(|| format!("run {run} is not known"))?;
        let row = self.rows.get(&row).ok_or_else(|| format!("row {row} is not known"))?;
        let metric = row.metrics.first().ok_or_else(|| format!("{} has no metric", row.id))?;
        let figure = match figure {
            Ok(Figure { estimate, launches, blocks }) => {
                let result = MetricResult { metric: metric.clone(), estimate, launches, blocks };
                result.validate().map_err(|why| format!("no figure of {}: {why}", row.id))?;
                if estimate.median <= 0.0 {
                    return Err(format!("no figure of {}: {estimate:?}", row.id));
                }
                Ok(result)
            }
            Err(reason) => Err(reason),
        };
        Ok(Heard::Found(Box::new(Found { run, origin: Arc::clone(origin), row: Arc::clone(row), figure })))
    }
}

#[cfg(test)]
mod tests;
