//! `kernel`: basic operations that the LMbench tables do not have: what today's programs ask of a kernel. One file per
//! operation, and the table below. Every row is in ns.

use super::operation::{self, entry};
use super::{Entry, Info};

pub mod none;

/// The facility in the table.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "kernel",
        definition_version: 1,
        summary: "basic operations of today's kernel that LMbench does not know",
    },
    subjects: || operation::subjects(TABLE),
    accepts: |_| Ok(()),
    probe: |job| operation::probe(TABLE, job),
    conduct: |job| operation::conduct(TABLE, job),
};

/// Every operation, in the order of the tables.
static TABLE: &[operation::Entry] = &[entry::<none::Nothing>()];
