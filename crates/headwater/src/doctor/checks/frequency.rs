//! Settings that let the clock rate of the CPUs vary.

use crate::doctor::{Facts, Finding, Remedy};

/// Checks the frequency governor.
pub fn governor(facts: &Facts) -> Option<Finding> {
    let name = facts.environment.cpu.governor.as_deref()?;
    if name == "performance" {
        return Some(Finding::good(name));
    }
    let files = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    Some(
        Finding::warning(
            format!("{name}, not performance"),
            "The clock rate follows the load, so a process that sleeps between messages runs slower than one that \
             does not, and launches differ.",
        )
        .with(Remedy::write(facts, files, "performance", name)),
    )
}

/// Checks for frequencies above the nominal one.
pub fn turbo(facts: &Facts) -> Option<Finding> {
    let turbo = facts.probes.turbo.as_ref()?;
    if turbo.present == turbo.off {
        return Some(Finding::good("off"));
    }
    Some(
        Finding::note(
            "on",
            "The clock rate depends on temperature and on how many CPUs work, so figures wander within minutes. \
             Without it they are lower and steadier.",
        )
        .with(Remedy::write(facts, turbo.file, turbo.off, &turbo.present)),
    )
}
