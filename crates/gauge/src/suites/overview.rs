//! `overview`: every transport and primitive at a few sizes, in a few minutes on two CPUs: `headwater run --full`. Words that
//! name no suite select from its rows.

use headwater_results::schema::{Placement, Row, WorkerKind};

use super::{Axes, Defaults, Suite, general_purpose};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "overview",
    summary: "every transport and primitive at a few sizes (`run --full`)",
    defaults: Defaults {
        launches: 12,
        time_s: 0.035,
        warm_up_s: 0.006,
        budget_s: None,
        placements: &[Placement::TwoCpus],
    },
    rows,
};

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let small = axes.sizes_or(&[64]);
    let mut rows = axes.messaging("stream", &axes.sizes_or(&[64, 4096, 65_536]), general_purpose);
    rows.extend(axes.messaging("stream-full", &small, general_purpose));
    rows.extend(axes.messaging("single", &axes.sizes_or(&[4096]), general_purpose));
    rows.extend(axes.messaging("flood", &axes.sizes_or(&[64, 4096]), general_purpose));
    rows.extend(axes.messaging("rtt", &small, general_purpose));
    rows.extend(axes.messaging("wake", &small, general_purpose));
    rows.extend(axes.counted(
        "matrix",
        &["pipe", "fifo", "fifo-socket", "streams-fifo"],
        &axes.sizes_or(&[64, 4096]),
        &[1000],
    ));
    rows.extend(axes.workers("sync", &[1, 2], &[WorkerKind::Process]));
    rows.extend(axes.workers("sync", &[2], &[WorkerKind::Thread]));
    rows
}
