//! What holds for this process and those that it starts.

use crate::doctor::{Facts, Finding, Remedy};

/// `select` on 500 descriptors is the row that needs most.
const DESCRIPTORS_MIN: u64 = 1024;

/// Open files.
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

/// Core dumps.
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

/// A debugger or `strace`.
pub fn debugger(facts: &Facts) -> Option<Finding> {
    Some(match facts.tracing("tracer_pid")? {
        "0" => Finding::good("none attached"),
        pid => Finding::warning(
            format!("process {pid} traces this one"),
            "Every system call or signal may stop for it: no figure is worth anything. Start the command without it.",
        ),
    })
}

/// Filters that see every system call.
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
