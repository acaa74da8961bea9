//! Other work on the CPUs during the check.

use crate::doctor::{Facts, Finding};

/// Share of the CPUs that other work may use before figures suffer.
const LOAD_PER_CPU_WARNING: f64 = 0.5;
/// Below this share the load is that of an idle system.
const LOAD_PER_CPU_NOTE: f64 = 0.1;
/// Percentage of time in which a process waited for a resource: PSI's `some avg10`.
const PRESSURE_PERCENT_WARNING: f64 = 10.0;
const PRESSURE_PERCENT_NOTE: f64 = 2.0;
/// Shares of stolen time. MEASURING.md 2.5 flags rows that lost time; these limits predict it.
const STEAL_WARNING: f64 = 0.01;
const STEAL_NOTE: f64 = 0.001;

/// Checks the load average.
pub fn average(facts: &Facts) -> Option<Finding> {
    let (load, cpus) = (facts.environment.load.average_1min, facts.environment.cpu.online.max(1));
    let what = format!("{load:.2} over the last minute on {cpus} CPUs");
    let consequence = "Other work takes CPU time from the rows. Wait for it to end; `top` shows whose it is.";
    Some(graded(load / f64::from(cpus), LOAD_PER_CPU_NOTE, LOAD_PER_CPU_WARNING, what, consequence))
}

/// Checks for other measurements by this tool.
pub fn other_measurements(facts: &Facts) -> Option<Finding> {
    let consequence = "Two measurements at one time disturb each other. Wait for the other to end.";
    let others = facts.environment.load.others();
    Some(others.map_or_else(|| Finding::good("none"), |others| Finding::warning(others, consequence)))
}

/// Checks the resource with the most pressure.
pub fn pressure(facts: &Facts) -> Option<Finding> {
    let all = facts.environment.load.pressure_some_avg10.iter();
    let (resource, &percent) = all.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let resource = match resource.as_str() {
        "cpu" => "a CPU",
        "io" => "I/O",
        other => other,
    };
    let what = format!("in {percent:.1} % of the last 10 s something waited for {resource}");
    let consequence = "Processes compete now, so the rows will wait too. Wait until it is quiet.";
    Some(graded(percent, PRESSURE_PERCENT_NOTE, PRESSURE_PERCENT_WARNING, what, consequence))
}

/// Checks the time that the hypervisor gave to other machines.
pub fn steal(facts: &Facts) -> Option<Finding> {
    let share = facts.environment.load.steal_since_boot;
    if share == 0.0 && facts.environment.virtualisation.as_deref().unwrap_or("none") == "none" {
        return None;
    }
    let what = format!("{:.2} % of CPU time since boot", share * 100.0);
    let consequence = "The host runs others on these CPUs. Launches that lose time are flagged; use more launches, or a \
                       machine with CPUs of its own.";
    Some(graded(share, STEAL_NOTE, STEAL_WARNING, what, consequence))
}

fn graded(value: f64, note: f64, warning: f64, what: String, consequence: &str) -> Finding {
    if value >= warning {
        Finding::warning(what, consequence)
    } else if value >= note {
        Finding::note(what, consequence)
    } else {
        Finding::good(what)
    }
}
