//! Published figures: the tables of five reports, each dataset in the form of a run, so that old and new figures can be
//! drawn in the same charts. Called for names of the form `published:TABLE/DATASET`; the figures are compiled in.
//!
//! A row has today's names (subject, pattern, metric, definition version) if today's definition is the report's, and a
//! pattern of its own if not. Figures are converted only by arithmetic that the definition permits. Facts that a report
//! does not state are absent: each row has one launch and so no interval, zeros and empty texts of the environment mean
//! unknown, and the start time is the date of the report.

pub mod claims;
mod fifo;
mod ipc;
mod ltt;
mod pipes;
mod sheet;
mod sync;
mod udp;

use crate::schema::Run;

/// The prefix of a published dataset's name, where the name of a run is expected.
pub const PREFIX: &str = "published:";

/// A table of a report.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The name on the command line: `pipes`.
    pub name: &'static str,
    /// A description in a few words.
    pub title: &'static str,
    /// Author, title, place and date of the report.
    pub citation: &'static str,
    /// The report's date, RFC 3339; the first of January if only its year is known.
    pub date: &'static str,
    /// What was measured and how its figures became rows, in a few sentences.
    pub what: &'static str,
    read: fn(&Table) -> Vec<Dataset>,
}

/// One host, system or configuration of a table.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Its name within the table: `fc6`.
    pub name: String,
    /// Where it was measured, in one line.
    pub about: String,
    /// Its figures.
    pub run: Run,
}

/// All tables, in the order of the list.
static TABLES: &[Table] = &[pipes::TABLE, udp::TABLE, fifo::TABLE, ipc::TABLE, sync::TABLE, ltt::TABLE];

/// Returns all tables, in the order of the list.
pub fn tables() -> &'static [Table] {
    TABLES
}

/// Returns the table with that name.
pub fn find(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

/// Returns one dataset as a run, whose id is `published:TABLE/DATASET`.
pub fn run(table: &str, dataset: &str) -> Option<Run> {
    find(table)?.datasets().into_iter().find(|found| found.name == dataset).map(|found| found.run)
}

/// Returns the table of a run with this id; `None` for a run that was measured here.
pub fn source_of(run_id: &str) -> Option<&'static Table> {
    let (table, _) = run_id.strip_prefix(PREFIX)?.split_once('/')?;
    find(table)
}

impl Table {
    /// Returns its datasets, in the order of the report.
    pub fn datasets(&self) -> Vec<Dataset> {
        (self.read)(self)
    }
}

#[cfg(test)]
mod tests;
