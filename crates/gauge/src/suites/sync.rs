//! `sync`: synchronisation after UNPv2, appendix A: 1 to 5 processes, then threads, each add 1 to a shared counter
//! 1,000,000 times.

use headwater_results::schema::{Placement, Row, WorkerKind};

use super::{Axes, Defaults, Suite};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "sync",
    summary: "1 to 5 processes and threads at one counter: atomic, locks and semaphores, after UNPv2",
    defaults: Defaults { launches: 12, time_s: 0.2, warm_up_s: 0.02, budget_s: None, placements: &[Placement::Free] },
    rows,
};

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    axes.workers("sync", &[1, 2, 3, 4, 5], &[WorkerKind::Process, WorkerKind::Thread])
}
