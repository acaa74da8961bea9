//! The time of an addition to a shared counter, by one worker and by two at once: without a lock, and by the fastest lock.

use headwater_results::schema::{RowResult, Run, WorkerKind};

use super::relation::{behind, within};
use super::{main_rows, median};
use crate::judge::{self, Relation};
use crate::text::list;
use crate::units;

/// Additions by each worker in the definition of `sync`.
const ADDITIONS: f64 = 1e6;

/// The primitive without a lock. It is always the fastest, so the fastest lock is named too.
const LOCKLESS: &str = "atomic";

/// The most locks that are named.
const NAMED: usize = 3;

pub(super) fn sentences(run: &Run) -> Vec<String> {
    let rows = main_rows(run, "sync");
    // Processes, or threads if only those were measured.
    let kinds = [(WorkerKind::Process, "process", "processes"), (WorkerKind::Thread, "thread", "threads")];
    let has_kind = |kind: WorkerKind| rows.iter().any(|row| row.row.worker_kind == Some(kind));
    let Some((kind, one, several)) = kinds.into_iter().find(|&(kind, ..)| has_kind(kind)) else {
        return Vec::new();
    };
    let with = |workers: u32| -> Option<String> {
        let is_wanted = |row: &&RowResult| row.row.worker_kind == Some(kind) && row.row.workers == Some(workers);
        times(&rows.iter().copied().filter(is_wanted).collect::<Vec<_>>())
    };
    let alone = with(1).map(|words| format!("An addition to a shared counter takes one {one} {words}."));
    let both = with(2).map(|words| format!("With two {several} at once an addition takes {words}."));
    let sentences: Vec<String> = alone.into_iter().chain(both).collect();
    if sentences.is_empty() { Vec::new() } else { vec![sentences.join(" ")] }
}

/// Returns `5.1 ns by an atomic instruction, and 12 ns by the fastest lock, mutex`.
fn times(rows: &[&RowResult]) -> Option<String> {
    let (free, locks): (Vec<&RowResult>, Vec<&RowResult>) =
        rows.iter().copied().partition(|row| row.row.subject == LOCKLESS);
    let free = judge::best(&free).map(|row| format!("{} by an atomic instruction", cost(row)));
    let parts: Vec<String> = free.into_iter().chain(fastest_lock(&locks)).collect();
    (!parts.is_empty()).then(|| list(&parts))
}

/// Returns `12 ns by the fastest lock, mutex`, with those that are as fast and may be.
fn fastest_lock(locks: &[&RowResult]) -> Option<String> {
    let ranked = judge::ranked_candidates(locks);
    let (first, relation) = ranked.first()?;
    if !relation.leads() {
        return None;
    }
    let leaders: Vec<&str> =
        ranked.iter().filter(|(_, relation)| relation.leads()).map(|(row, _)| row.row.subject.as_str()).collect();
    let equal = if leaders.len() > 1 { format!(" ({})", within()) } else { String::new() };
    let open = ranked.iter().filter(|(_, relation)| matches!(relation, Relation::Open(times) if times.n > 1));
    let open: Vec<(&str, Relation)> = open.map(|(row, relation)| (row.row.subject.as_str(), *relation)).collect();
    let open: String = behind(&open).iter().map(|words| format!(" ({words})")).collect();
    let what = if leaders.len() > 1 { "fastest locks" } else { "fastest lock" };
    Some(format!("{} by the {what}, {}{equal}{open}", cost(first), crate::text::short_list(&leaders, NAMED)))
}

fn cost(row: &RowResult) -> String {
    units::duration_ns(median(row) * 1e3 / ADDITIONS)
}
