//! Settings of the memory layout.

use crate::doctor::{Facts, Finding, Remedy};

/// Checks transparent huge pages.
pub fn huge_pages(facts: &Facts) -> Option<Finding> {
    let mode = facts.environment.memory.transparent_huge_pages.as_deref()?;
    if mode != "always" {
        return Some(Finding::good(mode));
    }
    let file = "/sys/kernel/mm/transparent_hugepage/enabled";
    Some(
        Finding::note(
            "always",
            "The kernel gathers small pages into large ones in the background, so large buffers may get faster in \
             the middle of a row.",
        )
        .with(Remedy::write(facts, file, "madvise", "always")),
    )
}

/// Checks address space randomisation.
pub fn address_randomisation(facts: &Facts) -> Option<Finding> {
    let level = facts.sysctl("kernel.randomize_va_space")?;
    if level == 0 {
        return Some(Finding::good("off"));
    }
    Some(
        Finding::note(
            format!("on (level {level})"),
            "Each launch has other addresses, and caches treat some better than others. That is part of what \
             launches differ by, and why there are several; leave it on unless you look for this very effect.",
        )
        .with(Remedy {
            what: "Run one command with fixed addresses".to_owned(),
            command: "setarch -R headwater run".to_owned(),
            undo: "headwater run".to_owned(),
        }),
    )
}
