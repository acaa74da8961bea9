//! `udp`: the netperf UDP_STREAM sweep: message sizes doubling from 1 B to 16 KiB, with sent and received messages
//! counted separately. On one CPU, as in six of the seven published tables, and on two. Ten seconds per row, divided
//! among its launches. In the columns of the paper: sockets (`udp`, and the kernel's ways of sending several datagrams
//! per call), XTI over sockets (`xti-inet-udp`), and XTI over STREAMS (`xti-udp`); and their round trips. Also the
//! bandwidth of UNPv2, for which each message is acknowledged.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite, doubling, general_purpose};
use crate::transports::Info;

const LAUNCHES: u32 = 12;

/// The suite.
pub const SUITE: Suite = Suite {
    name: "udp",
    summary: "UDP from 1 B to 16 KiB after netperf's UDP_STREAM, sockets, XTI over sockets and XTI: sent, received, lost; \
              round trips; and acknowledged",
    defaults: Defaults {
        launches: LAUNCHES,
        time_s: 10.0 / LAUNCHES as f64,
        warm_up_s: 0.05,
        budget_s: None,
        placements: &[Placement::TwoCpus, Placement::SameCpu],
    },
    rows,
};

/// The columns of the paper.
const COLUMNS: [&str; 3] = ["udp", "xti-inet-udp", "xti-udp"];

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let is_column = |info: &Info| COLUMNS.contains(&info.name);
    let sizes = axes.sizes_or(&doubling(1, 16_384));
    let mut rows = axes.messaging("flood", &sizes, |info| general_purpose(info) || is_column(info));
    rows.extend(axes.messaging("rtt", &axes.sizes_or(&[1, 64, 1024, 16_384]), is_column));
    // Only `udp`: each message waits for its acknowledgement, so a call with several datagrams would still send one.
    rows.extend(axes.messaging("acknowledged", &axes.sizes_or(&doubling(1024, 32_768)), |info| info.name == "udp"));
    rows
}
