//! `netperf`: the rows that correspond to netperf's tests of the loopback interface with their defaults: UDP_STREAM,
//! UDP_RR, TCP_STREAM and TCP_RR; and the same with connected UDP sockets and with TCP_NODELAY (docs/netperf.md).
//!
//! The receiver of TCP_STREAM reads as much as its socket buffer holds (128 KiB). Rows of `stream-full` read up to 64
//! KiB, which is as fast. `import netperf` assigns results to these rows.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "netperf",
    summary: "UDP and TCP over loopback as netperf's STREAM and RR tests have them, on one CPU and on two",
    defaults: Defaults {
        launches: 12,
        time_s: 0.5,
        warm_up_s: 0.05,
        budget_s: None,
        placements: &[Placement::TwoCpus, Placement::SameCpu],
    },
    rows,
};

/// Patterns with their transports and message sizes: small ones, TCP_STREAM's default on Linux, and large ones.
const ROWS: [(&str, &[&str], &[u64]); 3] = [
    ("flood", &["udp-unconnected", "udp"], &[64, 1024, 16_384]),
    ("stream-full", &["tcp-nagle", "tcp"], &[64, 1024, 16_384, 65_536]),
    ("rtt", &["udp-unconnected", "udp", "tcp"], &[1, 1024, 16_384]),
];

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let of_pattern = |(pattern, names, sizes): (&str, &[&str], &[u64])| {
        axes.messaging(pattern, &axes.sizes_or(sizes), |transport| names.contains(&transport.name))
    };
    ROWS.into_iter().flat_map(of_pattern).collect()
}
