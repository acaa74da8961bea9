//! `tracing`: the cost of an event in a program, switched off and recorded, with its lower limit; and of a system call
//! under a kernel session. The cost of tracing for a whole command is measured by `headwater overhead`.

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
