//! `sync`: the cost of mutual exclusion, in the form of UNPv2.

use headwater_results::schema::{RowResult, WorkerKind};

use super::Section;
use super::cells::{Fixed, by_column, own};
use super::frame::framed;
use super::page::Page;
use crate::rows;
use crate::text::plural;

/// The entry in the table of sections.
pub(super) const SECTION: Section = Section { patterns: &["sync"], draw };

const DEFINITION: &str = "Each of the workers adds 1 to a shared counter 1,000,000 times; from their common start until \
                          all are done. us, lower is better.";

/// With more columns, processes and threads have separate tables.
const TOGETHER_MAX: usize = 4;

fn draw(page: &Page<'_>) -> Option<String> {
    let &Page { run, style, .. } = page;
    let rows = rows::measured(run, "sync");
    framed("Synchronisation (sync)", DEFINITION, run, &rows, style, |rows| {
        let mut columns = columns(rows);
        let fixed = Fixed::of(rows.iter().filter_map(|row| rows::own(row)).map(|own| own.estimate.median));
        let draw = |columns: Vec<Column<'_>>| {
            let columns = columns.into_iter().map(|column| (column.head(), column.rows)).collect();
            by_column("primitive", columns, |row, best| own(row, |us| fixed.text(us), best, page)).draw(style)
        };
        if columns.len() <= TOGETHER_MAX {
            return draw(columns);
        }
        let threads = columns.split_off(columns.partition_point(|column| column.kind != Some(WorkerKind::Thread)));
        let parts = [columns, threads].into_iter().filter(|columns| !columns.is_empty()).map(draw);
        parts.collect::<Vec<_>>().join("\n\n")
    })
}

/// The rows with the same number and kind of workers.
struct Column<'a> {
    kind: Option<WorkerKind>,
    workers: Option<u32>,
    rows: Vec<&'a RowResult>,
}

impl Column<'_> {
    fn head(&self) -> String {
        let noun = match self.kind {
            Some(WorkerKind::Process) => "process",
            Some(WorkerKind::Thread) => "thread",
            None => "worker",
        };
        match self.workers {
            Some(workers) if noun == "process" && workers != 1 => format!("{workers} processes"),
            Some(workers) => plural(workers as usize, noun),
            None => noun.to_owned(),
        }
    }
}

/// Processes come before threads, few workers before many.
fn columns<'a>(rows: &[&'a RowResult]) -> Vec<Column<'a>> {
    let mut keys: Vec<_> = rows.iter().map(|row| (row.row.worker_kind, row.row.workers)).collect();
    keys.sort_unstable();
    keys.dedup();
    let of = |(kind, workers)| {
        let is_here = |row: &&RowResult| (row.row.worker_kind, row.row.workers) == (kind, workers);
        Column { kind, workers, rows: rows.iter().copied().filter(is_here).collect() }
    };
    keys.into_iter().map(of).collect()
}
