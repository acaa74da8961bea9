//! `pipes`: the STREAMS pipe experiment (perftest): write sizes doubling from 1 B to 64 KiB, one write per message; two
//! processes, or one that fills and drains the pipe; reads of the message size and full reads. The STREAMS pipe also
//! runs with other windows, with modules, and with the options of its heads.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite, doubling};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "pipes",
    summary: "the kernel's pipe and the STREAMS pipe from 1 B to 64 KiB, against a bare ring",
    defaults: Defaults {
        launches: 12,
        time_s: 0.06,
        warm_up_s: 0.015,
        budget_s: None,
        placements: &[Placement::TwoCpus, Placement::SameCpu],
    },
    rows,
};

/// The mechanisms of the experiment, the limits, and the harness's own cost.
const NAMES: [&str; 9] =
    ["pipe", "pipe-1m", "fifo", "streams-pipe", "streams-eager", "ring-spin", "ring-futex", "ring-futex-1m", "null"];

/// The STREAMS pipe with other windows, modules and options: only in the one-way patterns, where they matter.
const CHANGED: [&str; 8] = [
    "streams-pipe-4k",
    "streams-pipe-1m",
    "streams-pipe-null1",
    "streams-pipe-null4",
    "streams-pipe-srv1",
    "streams-hold",
    "streams-mread",
    "streams-fill",
];

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let sizes = axes.sizes_or(&doubling(1, 65_536));
    let mut rows = Vec::new();
    for pattern in ["stream", "stream-full", "single"] {
        rows.extend(axes.messaging(pattern, &sizes, |transport| {
            NAMES.contains(&transport.name) || pattern == "stream" && CHANGED.contains(&transport.name)
        }));
    }
    rows
}
