//! `lmbench`: the whole table of the kernel's basic operations as LMbench has it, and today's beside it.
//!
//! Its rows carry `lmbench_value` too, the figure by the old rule, as far as the old tables have them.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite};
use crate::harness::lmbench_rule;

/// The suite.
pub const SUITE: Suite = Suite {
    name: "lmbench",
    summary: "basic operations of the kernel and of memory: the rows of LMbench, and today's",
    // About 130 rows: a launch has 0.2 s if all are to be done in less than 6 minutes, disturbed launches repeated.
    defaults: Defaults {
        launches: 12,
        time_s: 0.08,
        warm_up_s: 0.015,
        budget_s: Some(340.0),
        placements: &[Placement::Free],
    },
    rows,
};

/// The local latencies that are rows of pattern `rtt`: UDP has four bytes, as the old table has it.
const ROUND_TRIPS: [(u64, &[&str]); 2] = [(1, &["pipe", "unix-stream", "tcp"]), (4, &["udp"])];

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    let mut rows = axes.subjects("lmbench");
    for (size, names) in ROUND_TRIPS {
        rows.extend(axes.messaging("rtt", &axes.sizes_or(&[size]), |transport| names.contains(&transport.name)));
    }
    let mut rows: Vec<Row> = rows.into_iter().map(lmbench_rule::with_value).collect();
    rows.extend(axes.subjects("kernel"));
    rows
}
