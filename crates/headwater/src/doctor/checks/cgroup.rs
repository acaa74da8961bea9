//! Limits of the control group.

use crate::doctor::{Facts, Finding, Remedy};
use crate::environment::parse_cpu_max;

/// MEASURING's budget for a full run is 200 MB; this leaves room for the mapped files and caches of the rows.
const MEMORY_BYTES_MIN: u64 = 512 << 20;

/// A quota of CPU time.
pub fn cpu_quota(facts: &Facts) -> Option<Finding> {
    let cgroup = &facts.environment.cgroup;
    let Some(cpus) = cgroup.get("cpu.max").and_then(|text| parse_cpu_max(text)) else {
        // Whether there are groups at all is not known without a version.
        return cgroup.contains_key("version").then(|| Finding::good("none"));
    };
    let remedy = facts
        .probes
        .cpu_quota
        .as_ref()
        .map(|quota| Remedy::write(facts, &quota.file.to_string_lossy(), "max", &quota.present));
    Some(
        Finding::warning(
            format!("{cpus:.2} CPUs' worth of time"),
            "When it is used up, the whole group stands still for the rest of the period (often 50 ms and more). \
             Throttled launches are flagged.",
        )
        .with(remedy),
    )
}

/// A limit of memory.
pub fn memory_max(facts: &Facts) -> Option<Finding> {
    let cgroup = &facts.environment.cgroup;
    cgroup.get("version")?;
    let Some(bytes) = cgroup.get("memory.max").and_then(|text| text.parse::<u64>().ok()) else {
        return Some(Finding::good("none"));
    };
    let what = format!("{} MiB", bytes >> 20);
    Some(if bytes >= MEMORY_BYTES_MIN {
        Finding::good(what)
    } else {
        Finding::warning(
            what,
            "A full run needs 200 MB and the page cache counts too: a row may be killed or slowed by reclaim.",
        )
    })
}
