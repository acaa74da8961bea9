//! `ipc`: Linux IPC after Stevens' UNPv2, volume 2, appendix A: bandwidth with messages of 1 to 64 KiB, latency by the
//! exchange of one byte. UDP, which drops what is not taken in time, has its bandwidth with every message acknowledged.
//!
//! The book moves a fixed 500 MiB and exchanges 10,000 times. Here the time of a launch is fixed instead, so that slow
//! and fast mechanisms get equally good intervals; with the defaults a row's launches together move more than that.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite, doubling, everyone};

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
    let mut rows = axes.messaging("stream", &axes.sizes_or(&doubling(1024, 65_536)), everyone);
    rows.extend(axes.messaging("acknowledged", &axes.sizes_or(&doubling(1024, 32_768)), |info| info.name == "udp"));
    rows.extend(axes.messaging("rtt", &axes.sizes_or(&[1]), everyone));
    rows
}
