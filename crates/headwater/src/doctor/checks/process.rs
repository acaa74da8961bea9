//! Limits and tracers of this process and its children.

use crate::doctor::{Facts, Finding, Remedy};

/// The row that needs the most file descriptors is `select` on 500.
const DESCRIPTORS_MIN: u64 = 1024;

/// Checks the limit of open files.
pub fn descriptors(facts: &Facts) -> Option<Finding> {
    let count = facts.limit("nofile")?;
    let what = format!("{} may be open", facts.environment.limits.resource["nofile"]);
    Some(if count >= DESCRIPTORS_MIN {
        Finding::good(what)
    } else {
        Finding::warning(what, "Rows with many descriptors are skipped.").with(Remedy::limit(
            facts,
            "nofile",
            DESCRIPTORS_MIN,
        ))
    })
}

/// Checks how the kernel schedules this process.
pub fn priority(facts: &Facts) -> Option<Finding> {
    let scheduling = &facts.environment.scheduling;
    let nice = scheduling.get("nice")?;
    let Some(words) = facts.environment.priority() else { return Some(Finding::good("as programs usually have it")) };
    let finding = Finding::note(
        words,
        "Launches inherit it. Other processes take the CPUs before those of a larger nice value, and wait for those of a smaller one or of a \
         real-time policy. Compare with runs of the same priority only.",
    );
    let set = |nice: &str| format!("{}renice -n {nice} -p $$", facts.sudo());
    Some(finding.with((nice != "0").then(|| Remedy {
        what: "Set the nice value of this shell to 0".to_owned(),
        command: set("0"),
        undo: set(nice),
    })))
}

/// Checks whether core dumps are on.
pub fn core_dumps(facts: &Facts) -> Option<Finding> {
    if facts.limit("core")? == 0 {
        return Some(Finding::good("off"));
    }
    Some(
        Finding::note(
            format!("on, up to {}", facts.environment.limits.resource["core"]),
            "A peer that crashes writes its memory to disk while the next rows are measured.",
        )
        .with(Remedy::limit(facts, "core", 0)),
    )
}

/// Checks for a debugger or `strace`.
pub fn debugger(facts: &Facts) -> Option<Finding> {
    Some(match facts.tracing("tracer_pid")? {
        "0" => Finding::good("none attached"),
        pid => Finding::warning(
            format!("process {pid} traces this one"),
            "Every system call or signal may stop for it: no figure is worth anything. Start the command without it.",
        ),
    })
}

/// Checks for filters of system calls.
pub fn system_call_filter(facts: &Facts) -> Option<Finding> {
    if facts.tracing("seccomp")? == "0" {
        return Some(Finding::good("no filter"));
    }
    let count = facts.tracing("seccomp_filters").unwrap_or("some");
    Some(Finding::note(
        format!("system calls are filtered ({count} filters)"),
        "Each system call runs the filter first, which costs tens of nanoseconds and more. Containers do this; \
         compare with runs under the same filter only.",
    ))
}
