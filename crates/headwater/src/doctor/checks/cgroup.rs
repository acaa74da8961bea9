//! Limits of the control group.

use headwater_gauge::environment::parse_cpu_max;

use crate::doctor::{Facts, Finding, Remedy};

/// MEASURING.md limits a full run to 200 MB; the rest is for the mapped files and page caches of the rows.
const MEMORY_BYTES_MIN: u64 = 512 << 20;

/// Checks for a quota of CPU time.
pub fn cpu_quota(facts: &Facts) -> Option<Finding> {
    let cgroup = &facts.environment.cgroup;
    let Some(cpus) = cgroup.get("cpu.max").and_then(|text| parse_cpu_max(text)) else {
        // Without a version it is unknown whether there are control groups.
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

/// Checks for a limit of memory.
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
