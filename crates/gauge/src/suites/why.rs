//! `why`: what each mechanism of the STREAMS pipe contributes. Each row switches one mechanism off. For comparison: the
//! pipe with all mechanisms, the one with none (`streams-eager`), three windows, the options of the heads, the kernel's
//! pipe and the plain ring.
//!
//! The report shows wake-ups and context switches per 1000 messages beside each rate.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "why",
    summary: "what makes a STREAMS pipe fast: one mechanism off at a time, with wake-ups and switches",
    defaults: Defaults {
        launches: 12,
        time_s: 0.06,
        warm_up_s: 0.015,
        budget_s: None,
        placements: &[Placement::TwoCpus, Placement::SameCpu],
    },
    rows,
};

/// The complete pipe, its mechanisms, and its limits.
const NAMES: [&str; 14] = [
    "pipe",
    "streams-pipe",
    "streams-no-coalescing",
    "streams-no-hysteresis",
    "streams-no-wake-once",
    "streams-no-lane",
    "streams-no-stages",
    "streams-eager",
    "streams-hold",
    "streams-mread",
    "streams-fill",
    "streams-pipe-4k",
    "streams-pipe-1m",
    "ring-futex",
];

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    axes.messaging("stream", &axes.sizes_or(&[1, 64, 1024, 4096, 65_536]), |transport| NAMES.contains(&transport.name))
}
