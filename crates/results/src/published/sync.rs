//! Synchronisation after UNPv2: processes and threads at one counter.

use serde::Deserialize;

use super::sheet::{self, Key};
use super::{Dataset, Table, ipc};
use crate::schema::{Better, Placement, WorkerKind};

/// The entry in the table of tables.
pub(super) const TABLE: Table = Table {
    name: "sync",
    title: "Locks and semaphores of Linux at one counter",
    citation: ipc::TABLE.citation,
    date: ipc::TABLE.date,
    what: "Microseconds until 1 to 5 processes or threads have each added 1 to a shared counter 1,000,000 times: the \
           definition of facility sync. The record lock was measured with one thread only.",
    read,
};

#[derive(Clone, Debug, Deserialize)]
struct Line {
    unit_kind: String,
    units: u32,
    primitive: String,
    time_us_per_1m_each: f64,
}

fn read(table: &Table) -> Vec<Dataset> {
    let lines: Vec<Line> = sheet::lines(include_str!("../../data/published/sync.csv"));
    let results = lines.iter().map(|line| {
        let kind = if line.unit_kind == "process" { WorkerKind::Process } else { WorkerKind::Thread };
        let key = Key::new(&subject(&line.primitive), "sync", Placement::Free);
        let key = Key { workers: Some((kind, line.units)), ..key };
        key.with(&[("total", "us", Better::Lower, line.time_us_per_1m_each)])
    });
    vec![sheet::dataset(table, "fedora20", ipc::ABOUT.to_owned(), &ipc::HOST, 0.0, results.collect())]
}

/// Returns today's name.
fn subject(primitive: &str) -> String {
    match primitive {
        "fcntl_record_lock" => "record-lock".to_owned(),
        other => other.replace('_', "-"),
    }
}
