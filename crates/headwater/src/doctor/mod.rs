//! What on this machine disturbs a measurement or makes a row impossible, and what would help.
//!
//! Called by `headwater doctor` and before a run. It says what to do and how to undo it; it never changes a setting.
//! A check is a pure function of [`Facts`] in a file of `checks/`, plus its line in the table there.

mod checks;
mod facts;
mod finding;
mod probes;
mod render;

use headwater_results::schema::Environment;

pub use checks::{CHECKS, Check};
pub use facts::Facts;
pub use finding::{Finding, Remedy, Status};
pub use probes::{CpuQuota, PrivateIpc, ProbedDirectory, Probes, Tracer, Turbo};
pub use render::render;

/// Probes this machine and checks it, warnings first. Takes a few milliseconds; the caller has one thread, because a
/// child is forked that tries a private IPC namespace.
pub fn check(environment: &Environment) -> Vec<Finding> {
    check_facts(&Facts { environment, probes: &Probes::take() })
}

/// What every check makes of `facts`, warnings first, otherwise in the order of the table. A check about something
/// that the machine does not say gives nothing.
pub fn check_facts(facts: &Facts) -> Vec<Finding> {
    let found = |check: &Check| (check.run)(facts).map(|finding| Finding { topic: check.topic, ..finding });
    let mut findings: Vec<Finding> = CHECKS.iter().filter_map(found).collect();
    findings.sort_by_key(|finding| finding.status);
    findings
}

#[cfg(test)]
mod tests;
