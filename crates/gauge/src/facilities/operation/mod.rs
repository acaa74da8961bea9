//! Operations: single actions of a kernel or a machine that are timed alone. This folder is shared by the facilities
//! [`lmbench`](super::lmbench), [`kernel`](super::kernel), [`trace`](super::trace) and [`channel`](super::channel);
//! their folders have one operation per file.
//!
//! An operation has a process of its own. The process prepares the operation, checks once that it works, and then runs
//! it many times between two reads of the clock. Its children die with it.

use std::io;

use headwater_results::schema::Standing;

use super::Subject;
use crate::harness::conduct::{Job, LaunchError, Measured};
use crate::harness::lmbench_rule::LmbenchRule;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

mod cached_file;
mod conduct;
mod figure;
mod memory_check;
mod peer;

pub use cached_file::{CachedFile, FILE_BYTES};
use conduct::{Definition, RunProcess};
pub use figure::Figure;
pub use memory_check::need;
pub use peer::fork_peer;

/// A function that says whether a job can be prepared here.
pub type Probe = fn(&Job) -> Result<(), Unavailable>;

/// A function that performs an operation the given number of times.
pub type Run<O> = fn(&mut O, u64) -> io::Result<()>;

/// An action of a kernel or a machine.
pub trait Operation: Sized {
    /// The rows: the name in row ids, and one line for `list`. An operation with a parameter has several;
    /// [`Operation::prepare`] reads the parameter from the name.
    const ROWS: &'static [(&'static str, &'static str)];

    /// The unit of the figure.
    const FIGURE: Figure;

    /// Candidate, or null for a row that measures only the loop.
    const STANDING: Standing = Standing::Candidate;

    /// How LMbench makes one figure of its repetitions.
    const LMBENCH_RULE: LmbenchRule = LmbenchRule::Median;

    /// What a launch takes, for the estimate of a plan.
    const COST: LaunchCost = LaunchCost::USUAL;

    /// Work that the definition subtracts. It is repeated as often as the operation, in batches of its own that
    /// alternate with those of [`Operation::run`]. The sample of a batch is the difference; the medians of both parts
    /// are counters.
    const SUBTRACTED: Option<Run<Self>> = None;

    /// The most operations between two calls of [`Operation::tidy`]; for operations that use up files or memory.
    const PIECE_MAX: u64 = u64::MAX;

    /// The timed share of a launch's duration. The rest is for the subtracted part, or for long calls of
    /// [`Operation::tidy`].
    const TIMED_SHARE: f64 = if Self::SUBTRACTED.is_some() { 0.5 } else { 1.0 };

    /// Checks in a moment whether [`Operation::prepare`] would succeed, for an operation that prepares a lot of memory or
    /// files; if absent, the operation is prepared and dropped. Runs in the conductor, and leaves nothing.
    const PROBE: Option<Probe> = None;

    /// Returns the quantity of one operation: the bytes for a bandwidth, the hops for a round of a ring.
    fn quantity(job: &Job) -> f64 {
        let _ = job;
        1.0
    }

    /// Prepares the operation, in the process that will run it. That process has one thread, and runs on the first CPU
    /// of the job if the job names CPUs.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that failed: the row is then skipped.
    fn prepare(job: &Job) -> Result<Self, Unavailable>;

    /// Runs the operation a few times and verifies its effect. Called once, before anything is timed.
    ///
    /// # Errors
    /// A description of what went wrong: the launch then fails.
    fn check(&mut self) -> io::Result<()>;

    /// Prepares for the next `operations` operations, untimed: removes files, frees memory, drops pages.
    ///
    /// # Errors
    /// What the system reports.
    fn tidy(&mut self, operations: u64) -> io::Result<()> {
        let _ = operations;
        Ok(())
    }

    /// Runs the operation `operations` times, timed. It must not allocate, make virtual calls, or read a clock.
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
    cost: LaunchCost,
    probe: Option<Probe>,
    definition: fn(&Job) -> Definition,
    run_process: RunProcess,
}

/// Returns the table entry of operation `O`.
pub const fn entry<O: Operation>() -> Entry {
    Entry {
        rows: O::ROWS,
        figure: O::FIGURE,
        standing: O::STANDING,
        cost: O::COST,
        probe: O::PROBE,
        definition: Definition::of::<O>,
        run_process: conduct::run_process::<O>,
    }
}

/// Returns the rows of all operations of a table, in its order.
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

/// Returns what a launch of the subject takes.
pub fn cost(table: &'static [Entry], subject: &str) -> LaunchCost {
    find(table, subject).map_or(LaunchCost::USUAL, |entry| entry.cost)
}

/// Checks whether this machine can run the job's row: by the operation's own probe, else the operation is prepared and
/// dropped in a process of its own.
///
/// # Errors
/// [`Unavailable`] with the reason.
pub fn probe(table: &'static [Entry], job: &Job) -> Result<(), Unavailable> {
    let entry = find(table, &job.row.subject).ok_or_else(|| Unavailable(no_operation(job)))?;
    match entry.probe {
        Some(probe) => probe(job),
        None => conduct::probe(entry.run_process, job),
    }
}

/// Runs a launch of the job's row.
///
/// # Errors
/// [`LaunchError::Unavailable`] if it cannot be prepared, [`LaunchError::Failed`] if its check or a run fails.
pub fn conduct(table: &'static [Entry], job: &Job) -> Result<Measured, LaunchError> {
    let entry = find(table, &job.row.subject).ok_or_else(|| LaunchError::Unavailable(no_operation(job)))?;
    conduct::conduct(&(entry.definition)(job), entry.run_process, job)
}

fn find(table: &'static [Entry], subject: &str) -> Option<&'static Entry> {
    table.iter().find(|entry| entry.rows.iter().any(|(name, _)| *name == subject))
}

fn no_operation(job: &Job) -> String {
    format!("no operation {} in {}", job.row.subject, job.row.pattern)
}

#[cfg(test)]
mod tests;
