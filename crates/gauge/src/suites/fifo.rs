//! `fifo`: FreeBSD's FIFO experiment: today's FIFO (a pipe) against the older implementation (a socket) and the STREAMS
//! FIFO, message sizes by message counts; each cell is the mean of 100 runs.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite, doubling};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "fifo",
    summary: "FIFO over a pipe, over a socket, over STREAMS: 64 to 4096 B x 100 to 100,000 messages",
    defaults: Defaults {
        launches: 12,
        time_s: 0.1,
        warm_up_s: 0.02,
        budget_s: None,
        placements: &[Placement::TwoCpus],
    },
    rows,
};

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    axes.counted(
        "matrix",
        &["pipe", "fifo", "fifo-socket", "streams-fifo"],
        &axes.sizes_or(&doubling(64, 4096)),
        &[100, 1000, 5000, 10_000, 100_000],
    )
}
