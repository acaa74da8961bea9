//! `use`: how programs use a channel apart from streaming: request and answer over two one-way channels, occasional
//! messages, opening and closing, a killed peer. Over the kernel's pipe, a socket pair and the STREAMS pipe.
//!
//! Every row is shown beside the kernel's pipe, so that the report also shows where a ring in shared memory is slower.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "use",
    summary: "patterns of use beside the kernel's pipe: request and answer, rare messages, opening, dying peers",
    defaults: Defaults {
        launches: 12,
        time_s: 0.25,
        warm_up_s: 0.03,
        budget_s: None,
        placements: &[Placement::TwoCpus, Placement::SameCpu],
    },
    rows,
};

/// The compared transports, and the harness's own cost.
const NAMES: [&str; 6] = ["pipe", "unix-stream", "streams-pipe", "fifo", "streams-fifo", "null"];

/// Patterns with their message sizes.
const PATTERNS: [(&str, &[u64]); 9] = [
    ("rtt-two-channels", &[64]),
    ("paced-100", &[64]),
    ("paced-1000", &[64]),
    ("paced-10000", &[64]),
    ("pairs-stream", &[64, 4096, 65_536]),
    ("pairs-rtt", &[64]),
    ("epoll-level", &[64]),
    ("epoll-edge", &[64]),
    ("poll-both-ways", &[64]),
];

/// The costs of a channel apart from its messages. One process measures them, so there is one placement.
const FACILITIES: [&str; 7] =
    ["open-close", "open-byte-close", "fifo-open-close", "fork-100", "descriptors", "memory-idle", "killed-reader"];

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (pattern, sizes) in PATTERNS {
        rows.extend(axes.messaging(pattern, &axes.sizes_or(sizes), |transport| NAMES.contains(&transport.name)));
    }
    let last = axes.placements.len().saturating_sub(1);
    let alone = Axes { placements: &axes.placements[last..], ..axes.clone() };
    for facility in FACILITIES {
        rows.extend(alone.subjects(facility));
    }
    rows
}
