//! Finds what disturbs a measurement on this machine or prevents rows, and suggests remedies.
//!
//! Called by `headwater doctor` and before a run. It names each change and how to undo it, but never changes a setting.
//! A check is a pure function of [`Facts`] in a file of `checks/`, plus a line in the table there.

mod checks;
mod facts;
mod finding;
mod probes;
mod render;

use headwater_results::schema::Environment;
use headwater_results::sorting::Arrange;

pub use checks::{CHECKS, Check};
pub use facts::Facts;
pub use finding::{Finding, Remedy, Status};
pub use probes::{CpuQuota, PrivateIpc, ProbedDirectory, Probes, Tracer, Turbo};
pub use render::render;

/// Probes this machine and checks it. Warnings come first. Takes a few milliseconds. The calling process must have one
/// thread, because a child is forked to try a private IPC namespace.
pub fn check(environment: &Environment) -> Vec<Finding> {
    check_facts(&Facts { environment, probes: &Probes::take() })
}

/// Runs all checks on `facts`. Warnings come first, otherwise the order is that of the table. A check without its facts
/// yields no finding.
pub fn check_facts(facts: &Facts) -> Vec<Finding> {
    let found = |check: &Check| (check.run)(facts).map(|finding| Finding { topic: check.topic, ..finding });
    let mut findings: Vec<Finding> = CHECKS.iter().filter_map(found).collect();
    findings.arrange_by_key(|finding| finding.status);
    findings
}

#[cfg(test)]
mod tests;
