//! The facilities: measurements of the machine other than moving messages. One file or folder each, and the table
//! below. docs/howto/add-a-facility.md explains how to add one.

use headwater_results::schema::{Row, Standing};

use crate::harness::conduct::{Job, LaunchError, Measured};
use crate::patterns::MetricInfo;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

pub mod channel;
pub mod kernel;
pub mod lmbench;
mod operation;
pub mod sync;
pub mod trace;

/// The properties of a facility.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name in row ids, in the place of a pattern.
    pub name: &'static str,
    /// Returns the version of the definition of a subject. Rows of different versions are not comparable.
    pub definition_version: fn(&str) -> u32,
    /// The definition in one or two sentences.
    pub summary: &'static str,
}

/// A subject of a facility: a primitive or an operation.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The name in row ids.
    pub name: &'static str,
    /// One line for `list` and the documentation.
    pub summary: &'static str,
    /// Whether it is a candidate, a limit or null.
    pub standing: Standing,
    /// The metrics, the subject's own figure first.
    pub metrics: &'static [MetricInfo],
}

/// A facility in the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The properties of the facility.
    pub info: &'static Info,
    /// The subjects, in the order of the tables.
    pub subjects: fn() -> Vec<Subject>,
    /// Checks whether a row makes sense by its definition; the error is the reason why not.
    pub accepts: fn(&Row) -> Result<(), String>,
    /// What a launch of the subject takes, for the estimate of a plan.
    pub cost: fn(&str) -> LaunchCost,
    /// Checks whether this machine can run a job. It runs in a process with one thread.
    pub probe: fn(&Job) -> Result<(), Unavailable>,
    /// Runs a launch, in its own conductor.
    pub conduct: fn(&Job) -> Result<Measured, LaunchError>,
}

/// All facilities, in the order of the tables.
pub static TABLE: &[Entry] = &[
    sync::ENTRY,
    lmbench::ENTRY,
    kernel::ENTRY,
    trace::ENTRY,
    channel::open_close::ENTRY,
    channel::open_close::ENTRY_BYTE,
    channel::fifo_open::ENTRY,
    channel::fork::ENTRY,
    channel::descriptors::ENTRY,
    channel::memory::ENTRY,
    channel::killed_reader::ENTRY,
];

/// Returns the facility with that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.info.name == name)
}
