//! `lmbench`: all of LMbench's basic operations of the kernel, and newer ones.
//!
//! Rows that the old tables have also carry `lmbench_value`, the figure by LMbench's rule.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite};
use crate::harness::lmbench_rule;

/// The suite.
pub const SUITE: Suite = Suite {
    name: "lmbench",
    summary: "basic operations of the kernel and of memory: the rows of LMbench, and today's",
    // About 130 rows. With 0.2 s per launch the suite takes less than 6 minutes, including repeated launches.
    defaults: Defaults {
        launches: 12,
        time_s: 0.08,
        warm_up_s: 0.015,
        budget_s: Some(340.0),
        placements: &[Placement::Free],
    },
    rows,
};

/// The local latencies that are rows of pattern `rtt`. UDP uses four bytes, as in the old table.
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
