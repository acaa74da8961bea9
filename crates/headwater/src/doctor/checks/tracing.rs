//! Tracing of the kernel.

use crate::doctor::{Facts, Finding, Remedy};

/// Checks whether the kernel is being traced.
pub fn kernel(facts: &Facts) -> Option<Finding> {
    let tracer = facts.tracing("current_tracer")?;
    let events = facts.tracing("events_enabled").unwrap_or("0");
    let is_on = facts.tracing("tracing_on") == Some("1") && (tracer != "nop" || events != "0");
    if !is_on {
        return Some(Finding::good("off"));
    }
    let files = "/sys/kernel/tracing/tracing_on";
    Some(
        Finding::warning(
            format!("on: tracer {tracer}, {events} events"),
            "Every traced event costs the kernel time inside what is measured.",
        )
        .with(Remedy::write(facts, files, "0", "1")),
    )
}
