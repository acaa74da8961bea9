//! The number of CPUs, which of them may be used, and their properties.

use headwater_gauge::environment::parse_cpu_list;

use crate::doctor::{Facts, Finding, Remedy};

/// Checks the number of usable CPUs: the two processes of a row need two, and the rest of the system a third.
pub fn available(facts: &Facts) -> Option<Finding> {
    let usable = facts.environment.cpu.affinity.len();
    match usable {
        // The kernel did not report the CPUs.
        0 => None,
        1 => Some(Finding::warning(
            "1 CPU may be used",
            "Rows placed on two CPUs cannot be measured, and a waiting side that spins keeps the other from running.",
        )),
        2 => Some(Finding::note(
            "2 CPUs may be used",
            "A row on two CPUs leaves none for the rest of the system, so any other work takes time from it: expect \
             wider intervals.",
        )),
        _ => Some(Finding::good(format!("{usable} CPUs may be used"))),
    }
}

/// Checks for CPUs that exist but may not be used.
pub fn affinity(facts: &Facts) -> Option<Finding> {
    let cpu = &facts.environment.cpu;
    let usable = cpu.affinity.len();
    if usable == 0 {
        return None;
    }
    if usable >= cpu.online as usize {
        return Some(Finding::good(format!("all {} CPUs on line", cpu.online)));
    }
    let finding = Finding::note(
        format!("{usable} of the {} CPUs on line may be used", cpu.online),
        "Rows are placed on these CPUs only. That is what you want if they were set apart for measuring.",
    );
    let by_group = facts.environment.cgroup.get("cpuset.cpus.effective").map(|list| parse_cpu_list(list).len());
    if by_group.is_some_and(|count| count <= usable) {
        // The control group forbids more, so taskset would fail.
        return Some(finding);
    }
    let present: Vec<String> = cpu.affinity.iter().map(u32::to_string).collect();
    Some(finding.with(Remedy {
        what: "Let this shell use every CPU".to_owned(),
        command: format!("taskset -pc 0-{} $$", cpu.online - 1),
        undo: format!("taskset -pc {} $$", present.join(",")),
    }))
}

/// Checks for threads that share a core.
pub fn smt(facts: &Facts) -> Option<Finding> {
    let threads = facts.environment.cpu.threads_per_core?;
    if threads < 2 {
        return Some(Finding::good("1 thread per core"));
    }
    let file = "/sys/devices/system/cpu/smt/control";
    let switchable = facts.probes.smt_control.as_deref() == Some("on");
    Some(
        Finding::note(
            format!("{threads} threads per core"),
            "Two CPUs may be siblings that share a core: messages between them stay in its L1 cache, but each takes \
             execution units from the other. Which pair a row used is recorded with it.",
        )
        .with(switchable.then(|| Remedy::write(facts, file, "off", "on"))),
    )
}

/// Reports the hypervisor, if any.
pub fn hypervisor(facts: &Facts) -> Option<Finding> {
    let name = facts.environment.virtualisation.as_deref()?;
    Some(match name {
        "none" => Finding::good("none: bare metal"),
        name => Finding::note(
            name,
            "Waking a CPU that sleeps may leave the virtual machine, which costs microseconds, and the host may take \
             CPUs away. Compare with other machines of the same kind only.",
        ),
    })
}
