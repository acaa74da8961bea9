//! `ipc`: Linux IPC after Stevens' UNPv2, volume 2, appendix A: bandwidth with messages of 1 to 64 KiB, latency by the
//! exchange of one byte. UDP drops messages that the receiver does not read in time; its bandwidth is measured with
//! every message acknowledged.
//!
//! The book moves a fixed 500 MiB and exchanges 10,000 messages. Here the time of a launch is fixed instead, so that
//! the intervals of slow and fast mechanisms are equally narrow. With the defaults, the launches of a row together move
//! more than 500 MiB.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite, doubling, general_purpose};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "ipc",
    summary: "bandwidth (1 to 64 KiB) and latency (1 B) of all mechanisms, after UNPv2",
    defaults: Defaults {
        launches: 12,
        time_s: 0.25,
        warm_up_s: 0.03,
        budget_s: None,
        placements: &[Placement::TwoCpus],
    },
    rows,
};

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let mut rows = axes.messaging("stream", &axes.sizes_or(&doubling(1024, 65_536)), general_purpose);
    rows.extend(axes.messaging("acknowledged", &axes.sizes_or(&doubling(1024, 32_768)), |info| info.name == "udp"));
    rows.extend(axes.messaging("rtt", &axes.sizes_or(&[1]), general_purpose));
    rows
}
