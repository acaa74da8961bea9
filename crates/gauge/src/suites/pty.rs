//! `pty`: the kernel's pseudo-terminal against the STREAMS one, both in raw mode, and the STREAMS drivers without modules; the
//! pipes of both for comparison. The paper on STREAMS pipes for Linux left this comparison to later work.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "pty",
    summary: "pseudo-terminals: the kernel's against STREAMS, bytes per second from 1 B to 64 KiB and round trips",
    defaults: Defaults {
        launches: 12,
        time_s: 0.1,
        warm_up_s: 0.02,
        budget_s: None,
        placements: &[Placement::TwoCpus],
    },
    rows,
};

const NAMES: [&str; 6] = ["pty", "streams-pty", "streams-pts", "pipe", "streams-pipe", "null"];

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let is_one = |info: &crate::transports::Info| NAMES.contains(&info.name);
    let mut rows = axes.messaging("stream", &axes.sizes_or(&[1, 16, 64, 256, 1024, 4096, 16_384, 65_536]), is_one);
    rows.extend(axes.messaging("rtt", &axes.sizes_or(&[1, 64, 1024, 4096]), is_one));
    rows
}
