//! `udp`: the netperf UDP_STREAM sweep: message sizes doubling from 1 B to 16 KiB, with sent and received messages
//! counted separately. On one CPU, as in six of the seven published tables, and on two. Ten seconds per row, divided
//! among its launches. Also the bandwidth of UNPv2, for which each message is acknowledged.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite, doubling, general_purpose};

const LAUNCHES: u32 = 12;

/// The suite.
pub const SUITE: Suite = Suite {
    name: "udp",
    summary: "UDP over loopback from 1 B to 16 KiB after netperf's UDP_STREAM: sent, received, lost; and acknowledged",
    defaults: Defaults {
        launches: LAUNCHES,
        time_s: 10.0 / LAUNCHES as f64,
        warm_up_s: 0.05,
        budget_s: None,
        placements: &[Placement::TwoCpus, Placement::SameCpu],
    },
    rows,
};

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let mut rows = axes.messaging("flood", &axes.sizes_or(&doubling(1, 16_384)), general_purpose);
    // Only `udp`: each message waits for its acknowledgement, so a call with several datagrams would still send one.
    rows.extend(axes.messaging("acknowledged", &axes.sizes_or(&doubling(1024, 32_768)), |info| info.name == "udp"));
    rows
}
