//! `pipes`: the STREAMS pipe experiment (perftest): write sizes doubling from 1 B to 64 KiB, one write per message, two
//! processes or one that fills and drains, reads at the same size and full reads.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite, doubling};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "pipes",
    summary: "the kernel's pipe from 1 B to 64 KiB, with same-size and full reads, against a bare ring",
    defaults: Defaults {
        launches: 12,
        time_s: 0.06,
        warm_up_s: 0.015,
        budget_s: None,
        placements: &[Placement::TwoCpus, Placement::SameCpu],
    },
    rows,
};

/// The mechanisms of the experiment, with their limits and the harness's own cost.
const NAMES: [&str; 7] = ["pipe", "pipe-1m", "fifo", "ring-spin", "ring-futex", "ring-futex-1m", "null"];

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let sizes = axes.sizes_or(&doubling(1, 65_536));
    ["stream", "stream-full", "single"]
        .iter()
        .flat_map(|pattern| axes.messaging(pattern, &sizes, |transport| NAMES.contains(&transport.name)))
        .collect()
}
