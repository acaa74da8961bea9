//! `kernel`: basic operations of today's kernels that the LMbench tables do not have. One file per operation, and the
//! table below. Every row is in ns.

use super::operation::{self, entry};
use super::{Entry, Info};

pub mod anonymous_fault;
pub mod clock_gettime;
pub mod clone3;
pub mod epoll;
pub mod eventfd;
pub mod futex_wake;
pub mod getrandom;
pub mod io_uring;
pub mod membarrier;
pub mod mprotect;
pub mod none;
pub mod pidfd;
pub mod posix_spawn;
mod switch_check;
pub mod userfaultfd;

/// The facility in the table.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "kernel",
        definition_version: |_| 1,
        summary: "basic operations of today's kernel that LMbench does not know",
    },
    subjects: || operation::subjects(TABLE),
    accepts: |_| Ok(()),
    cost: |subject| operation::cost(TABLE, subject),
    probe: |job| operation::probe(TABLE, job),
    conduct: |job| operation::conduct(TABLE, job),
};

/// Every operation, in the order of the tables.
static TABLE: &[operation::Entry] = &[
    entry::<none::Nothing>(),
    entry::<clock_gettime::ClockGettime>(),
    entry::<getrandom::Getrandom>(),
    entry::<futex_wake::FutexWake>(),
    entry::<eventfd::Eventfd>(),
    entry::<epoll::Epoll>(),
    entry::<io_uring::IoUring>(),
    entry::<clone3::Clone3>(),
    entry::<posix_spawn::PosixSpawn>(),
    entry::<pidfd::Pidfd>(),
    entry::<mprotect::Mprotect>(),
    entry::<membarrier::Membarrier>(),
    entry::<anonymous_fault::SmallFault>(),
    entry::<anonymous_fault::HugeFault>(),
    entry::<userfaultfd::Userfaultfd>(),
];
