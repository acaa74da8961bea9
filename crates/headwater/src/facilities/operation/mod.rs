//! Operations: single things that a kernel or a machine does, timed alone. What facilities [`lmbench`](super::lmbench)
//! and [`kernel`](super::kernel) share; their folders hold one operation per file.
//!
//! An operation lives in a process of its own, which prepares it, checks once that it does what it says, and then runs
//! it many times between two reads of the clock. What it forks dies with it.

use std::io;

use headwater_results::schema::Standing;

use super::Subject;
use crate::harness::conduct::{Job, LaunchError, Measured};
use crate::harness::lmbench_rule::LmbenchRule;
use crate::transports::Unavailable;

mod cached_file;
mod conduct;
mod figure;
mod memory_check;
mod peer;

pub use cached_file::{CachedFile, FILE_BYTES};
pub use figure::Figure;
pub use memory_check::need;
pub use peer::fork_peer;

/// One function of an operation: does it so many times.
pub type Run<O> = fn(&mut O, u64) -> io::Result<()>;

/// Something that a kernel or a machine does.
pub trait Operation: Sized {
    /// Its rows: the name in row ids, and one line for `list`. Several where it has a parameter, which
    /// [`Operation::prepare`] reads from the name.
    const ROWS: &'static [(&'static str, &'static str)];

    /// What its figure is.
    const FIGURE: Figure;

    /// Candidate; null for what measures the loop alone.
    const STANDING: Standing = Standing::Candidate;

    /// How the rule of lmbench makes one figure of its repetitions.
    const LMBENCH_RULE: LmbenchRule = LmbenchRule::Median;

    /// What the definition subtracts: the same as often, timed in batches of its own that alternate with those of
    /// [`Operation::run`]. The sample of a batch is the difference; the medians of both are counters.
    const SUBTRACTED: Option<Run<Self>> = None;

    /// The most operations between two calls of [`Operation::tidy`], for what uses up files or memory.
    const PIECE_MAX: u64 = u64::MAX;

    /// The share of a launch's time that is timed; the rest is for what is subtracted, or for tidying that takes long.
    const TIMED_SHARE: f64 = if Self::SUBTRACTED.is_some() { 0.5 } else { 1.0 };

    /// How much one operation of [`Operation::run`] counts: bytes for a bandwidth, hops for a turn of a ring.
    fn quantity(job: &Job) -> f64 {
        let _ = job;
        1.0
    }

    /// Makes what it needs, in the process that will run it. That process has one thread, and runs on the first CPU of
    /// the job, if the job names any.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that stands in the way: the row is then skipped.
    fn prepare(job: &Job) -> Result<Self, Unavailable>;

    /// Does it a few times and looks whether what ought to happen happens. Called once, before anything is timed.
    ///
    /// # Errors
    /// In words what went wrong: the launch then fails.
    fn check(&mut self) -> io::Result<()>;

    /// Gets ready for the next `operations` operations, untimed: removes files, frees memory, drops pages.
    ///
    /// # Errors
    /// What the system reports.
    fn tidy(&mut self, operations: u64) -> io::Result<()> {
        let _ = operations;
        Ok(())
    }

    /// Does it `operations` times, timed: it allocates nothing, calls nothing through a table, and reads no clock.
    ///
    /// # Errors
    /// What the system reports; the launch then fails.
    fn run(&mut self, operations: u64) -> io::Result<()>;
}

/// An operation in the table of its facility.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    rows: &'static [(&'static str, &'static str)],
    figure: Figure,
    standing: Standing,
    probe: fn(&Job) -> Result<(), Unavailable>,
    conduct: fn(&Job) -> Result<Measured, LaunchError>,
}

/// The entry of operation `O`.
pub const fn entry<O: Operation>() -> Entry {
    Entry {
        rows: O::ROWS,
        figure: O::FIGURE,
        standing: O::STANDING,
        probe: conduct::probe::<O>,
        conduct: conduct::conduct::<O>,
    }
}

/// The rows of all operations of a table, in its order.
pub fn subjects(table: &'static [Entry]) -> Vec<Subject> {
    let of_entry = |entry: &'static Entry| {
        entry.rows.iter().map(|&(name, summary)| Subject {
            name,
            summary,
            standing: entry.standing,
            metrics: entry.figure.metrics(),
        })
    };
    table.iter().flat_map(of_entry).collect()
}

/// Whether this machine can run the job's row; the operation is prepared and dropped in a process of its own.
///
/// # Errors
/// [`Unavailable`] with the reason.
pub fn probe(table: &'static [Entry], job: &Job) -> Result<(), Unavailable> {
    (find(table, job).ok_or_else(|| Unavailable(no_operation(job)))?.probe)(job)
}

/// Runs a launch of the job's row.
///
/// # Errors
/// [`LaunchError::Unavailable`] if it cannot be prepared, [`LaunchError::Failed`] if it does not do what it says.
pub fn conduct(table: &'static [Entry], job: &Job) -> Result<Measured, LaunchError> {
    (find(table, job).ok_or_else(|| LaunchError::Unavailable(no_operation(job)))?.conduct)(job)
}

fn find(table: &'static [Entry], job: &Job) -> Option<&'static Entry> {
    table.iter().find(|entry| entry.rows.iter().any(|(name, _)| *name == job.row.subject))
}

fn no_operation(job: &Job) -> String {
    format!("no operation {} in {}", job.row.subject, job.row.pattern)
}

#[cfg(test)]
mod tests;
