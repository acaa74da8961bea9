//! `xti`: the transports of XTI against the kernel's sockets of the same service: the loop-back transports against
//! Unix-domain sockets, which the UDP paper left to later work, and connections over TCP sockets against TCP.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite};
use crate::transports::Info;

/// The suite.
pub const SUITE: Suite = Suite {
    name: "xti",
    summary: "XTI: loop-back transports against Unix-domain sockets, and TCP below XTI against TCP: rates and round trips",
    defaults: Defaults {
        launches: 12,
        time_s: 0.1,
        warm_up_s: 0.02,
        budget_s: None,
        placements: &[Placement::TwoCpus, Placement::SameCpu],
    },
    rows,
};

/// A transport of XTI behind the kernel's of the same service.
const NAMES: [&str; 7] = ["unix-dgram", "xti-ticlts", "unix-stream", "xti-ticots", "tcp", "xti-inet-tcp", "null"];

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let is_one = |info: &Info| NAMES.contains(&info.name);
    let mut rows = axes.messaging("stream", &axes.sizes_or(&[1, 16, 64, 256, 1024, 4096, 16_384]), is_one);
    rows.extend(axes.messaging("rtt", &axes.sizes_or(&[1, 64, 1024, 16_384]), is_one));
    rows
}
