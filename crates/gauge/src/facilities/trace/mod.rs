//! `trace`: the cost of the tracer in the traced program: an event that is switched off, one that is recorded, the
//! lower limit of recording, and a system call under a kernel session. One file per kind of operation, and the table
//! below. Every row is in ns.
//!
//! An event has three fields (a u64 and two u32) and makes a record of 32 bytes, like that of `bare-record`. The logs
//! of 256 KiB overwrite their oldest records, so that no reader is needed.

use super::operation::{self, entry};
use super::{Entry, Info};

pub mod bare_record;
pub mod event;
pub mod getppid;
pub mod none;
pub mod rdtsc;
mod session;

pub use session::{PATTERN, recorded};

/// The facility in the table.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "trace",
        definition_version: |_| 1,
        summary: "what an event costs in a program, off and recorded, and a system call beside a kernel session",
    },
    subjects: || operation::subjects(TABLE),
    accepts: |_| Ok(()),
    cost: |subject| operation::cost(TABLE, subject),
    probe: |job| operation::probe(TABLE, job),
    conduct: |job| operation::conduct(TABLE, job),
};

/// Every operation, in the order of the tables.
static TABLE: &[operation::Entry] = &[
    entry::<event::Event<event::Off>>(),
    entry::<event::Event<event::Unwanted>>(),
    entry::<event::Event<event::InCpuLog>>(),
    entry::<event::Event<event::InThreadLog>>(),
    entry::<event::Event<event::Text>>(),
    entry::<getppid::Getppid>(),
    entry::<bare_record::BareRecord>(),
    entry::<rdtsc::Rdtsc>(),
    entry::<none::Nothing>(),
];
