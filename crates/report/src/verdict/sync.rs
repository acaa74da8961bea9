//! The cheapest primitive, alone and with two contending workers.

use headwater_results::schema::{RowResult, Run, WorkerKind};

use super::{is_single, main_rows, median};
use crate::text::short_list;
use crate::{judge, units};

/// Additions by each worker in the definition of `sync`.
const ADDITIONS: f64 = 1e6;

/// A primitive without a lock is always cheapest, so the cheapest lock is named too.
const LOCKLESS: &str = "atomic";

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let rows = main_rows(run, "sync");
    // Processes, or threads if only those were measured.
    let kinds = [WorkerKind::Process, WorkerKind::Thread];
    let Some(kind) = kinds.into_iter().find(|&kind| rows.iter().any(|row| row.row.worker_kind == Some(kind))) else {
        return Vec::new();
    };
    let with = |workers: u32| -> Option<String> {
        let is_wanted = |row: &&RowResult| row.row.worker_kind == Some(kind) && row.row.workers == Some(workers);
        cheapest(&rows.iter().copied().filter(is_wanted).collect::<Vec<_>>())
    };
    let contending = match kind {
        WorkerKind::Process => "with 2 processes contending",
        WorkerKind::Thread => "with 2 threads contending",
    };
    let parts: Vec<String> =
        [with(1).map(|who| format!("alone {who}")), with(2).map(|who| format!("{contending} {who}"))]
            .into_iter()
            .flatten()
            .collect();
    if parts.is_empty() { Vec::new() } else { vec![format!("Time per addition (sync): {}.", parts.join("; "))] }
}

/// Returns `atomic is cheapest (5.1 ns), of the locks mutex (12 ns)`.
fn cheapest(rows: &[&RowResult]) -> Option<String> {
    let (first, is_lockless) = cheapest_words(rows)?;
    let locks: Vec<&RowResult> = rows.iter().copied().filter(|row| row.row.subject != LOCKLESS).collect();
    match cheapest_words(&locks) {
        Some((lock, _)) if is_lockless => Some(format!("{first}, of the locks {lock}")),
        _ => Some(first),
    }
}

/// Returns the cheapest primitives in words, and whether that is only the one without a lock.
fn cheapest_words(rows: &[&RowResult]) -> Option<(String, bool)> {
    let best = judge::best_candidates(rows);
    let first = *best.first()?;
    let cost = units::duration_ns(median(first) * 1e3 / ADDITIONS);
    // With a single launch there are no differences, so the lowest figure is taken.
    let shown = if is_single(first) { 1 } else { best.len() };
    let names: Vec<&str> = best[..shown].iter().map(|row| row.row.subject.as_str()).collect();
    let tie = if names.len() > 1 { ", not to be told apart" } else { "" };
    Some((format!("{} ({cost}{tie})", short_list(&names, 3)), names == [LOCKLESS]))
}
