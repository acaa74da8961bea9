//! The facilities: what is measured of the machine other than moving messages. One file or folder each, and the table
//! below. docs/howto/add-a-facility.md walks through a new one.

use headwater_results::schema::{Row, Standing};

use crate::harness::conduct::{Job, LaunchError, Measured};
use crate::patterns::MetricInfo;
use crate::transports::Unavailable;

pub mod channel;
pub mod kernel;
pub mod lmbench;
mod operation;
pub mod sync;
pub mod trace;

/// What a facility is.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name in row ids, in the place of a pattern.
    pub name: &'static str,
    /// The version of the definition of a subject, by its name. Rows of different versions are not comparable.
    pub definition_version: fn(&str) -> u32,
    /// The definition in one or two sentences.
    pub summary: &'static str,
}

/// Something that a facility measures: a primitive, an operation.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Name in row ids.
    pub name: &'static str,
    /// One line for `list` and the documentation.
    pub summary: &'static str,
    /// Candidate, limit or null.
    pub standing: Standing,
    /// What it yields, its own figure first.
    pub metrics: &'static [MetricInfo],
}

/// A facility in the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it is.
    pub info: &'static Info,
    /// What it measures, in the order of the tables.
    pub subjects: fn() -> Vec<Subject>,
    /// Whether a row makes sense by its definition; why not, in words.
    pub accepts: fn(&Row) -> Result<(), String>,
    /// Whether this machine can run a job; runs in a process of its own with one thread.
    pub probe: fn(&Job) -> Result<(), Unavailable>,
    /// Runs a launch, in a conductor of its own.
    pub conduct: fn(&Job) -> Result<Measured, LaunchError>,
}

/// Every facility, in the order of the tables.
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

/// The facility of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.info.name == name)
}
