//! The clock that times every batch.

use crate::doctor::{Facts, Finding, Remedy};

/// Clock sources that the vDSO reads without a system call.
const FAST: [&str; 8] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "xen",
    "arch_sys_counter",
    "riscv_clocksource",
    "timebase",
    "Constant",
];

/// A read through the vDSO takes 20 to 40 ns; a system call takes several times as long.
const READ_NS_WARNING: f64 = 150.0;

/// Checks the kernel's clock source.
pub fn source(facts: &Facts) -> Option<Finding> {
    let clock = &facts.environment.clock;
    let current = clock.get("current")?;
    if FAST.contains(&current.as_str()) {
        return Some(Finding::good(current));
    }
    let offered = clock.get("available").map(String::as_str).unwrap_or_default();
    let better = FAST.into_iter().find(|fast| offered.split(' ').any(|name| name == *fast));
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    Some(
        Finding::warning(
            format!("{current}, which is read by a system call"),
            "Every clock read enters the kernel, so single round trips cannot be timed finely. The kernel may have \
             had a reason to give up a faster source, which `dmesg` tells.",
        )
        .with(better.map(|better| Remedy::write(facts, file, better, current))),
    )
}

/// Checks the measured cost of reading the clock.
pub fn read_cost(facts: &Facts) -> Option<Finding> {
    let read_ns = facts.probes.clock_read_ns;
    let what = format!("{read_ns:.0} ns");
    Some(if read_ns < READ_NS_WARNING {
        Finding::good(what)
    } else {
        Finding::warning(
            format!("{what}, as slow as a system call"),
            "Batches are made longer to keep the clock's share below 1/1000; percentiles of single round trips \
             include a read.",
        )
    })
}
