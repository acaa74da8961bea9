//! `udp`: the netperf UDP_STREAM sweep: message sizes doubling from 1 B to 16 KiB, sent and received messages counted
//! apart. Ten seconds per row, spread over its launches.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite, doubling};

const LAUNCHES: u32 = 12;

/// The suite.
pub const SUITE: Suite = Suite {
    name: "udp",
    summary: "UDP over loopback from 1 B to 16 KiB after netperf's UDP_STREAM: sent, received, lost",
    defaults: Defaults {
        launches: LAUNCHES,
        time_s: 10.0 / LAUNCHES as f64,
        warm_up_s: 0.05,
        budget_s: None,
        placements: &[Placement::TwoCpus],
    },
    rows,
};

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    axes.messaging("flood", &axes.sizes_or(&doubling(1, 16_384)), |_| true)
}
