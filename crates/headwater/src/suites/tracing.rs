//! `tracing`: what an event costs in a program, switched off and recorded, beside the least that it could cost, and a system
//! call beside a kernel session. What tracing costs a whole command is `headwater overhead`.

use headwater_results::schema::{Placement, Row};

use super::{Axes, Defaults, Suite};

/// The suite.
pub const SUITE: Suite = Suite {
    name: "tracing",
    summary: "what tracing costs where it stands: events of programs, system calls beside a kernel session",
    defaults: Defaults {
        launches: 12,
        time_s: 0.08,
        warm_up_s: 0.015,
        budget_s: None,
        placements: &[Placement::SameCpu],
    },
    rows,
};

fn rows(axes: &Axes<'_>) -> Vec<Row> {
    axes.subjects("trace")
}
