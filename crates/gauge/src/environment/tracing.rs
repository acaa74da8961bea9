//! Tools that observe this machine or this process: kernel tracing, a debugger, a filter of system calls.

use headwater_results::schema::Fact;

use super::Source;

/// Settings that determine who may trace and whether the kernel can.
const SYSCTLS: [(&str, &str); 4] = [
    ("bpf_stats_enabled", "/proc/sys/kernel/bpf_stats_enabled"),
    ("ftrace_enabled", "/proc/sys/kernel/ftrace_enabled"),
    ("perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"),
    ("unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled"),
];

/// Captures the state of tracing. `current_tracer`, `tracing_on` and `events_enabled` (a count) are present only if
/// tracefs is mounted and readable. `tracer_pid` is 0 without a debugger, `seccomp_filters` is 0 without a filter.
pub fn capture(source: &Source) -> Fact {
    let status = source.read("/proc/self/status").unwrap_or_default();
    let of_process = [("tracer_pid", "TracerPid"), ("seccomp", "Seccomp"), ("seccomp_filters", "Seccomp_filters")];
    let of_process = of_process.map(|(name, key)| (name, parse_status(&status, key)));
    let settings = SYSCTLS.map(|(name, path)| (name, source.read(path)));
    let found = settings.into_iter().chain(of_process).chain(of_tracefs(source));
    found.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Returns the facts of tracefs if it is already mounted. An access to `/sys/kernel/debug/tracing` would mount it, so
/// that path is used only if the table of mounts contains it.
fn of_tracefs(source: &Source) -> Vec<(&'static str, Option<String>)> {
    let mounts = source.read("/proc/self/mounts").unwrap_or_default();
    let Some(directory) = parse_mount_point(&mounts, "tracefs") else { return Vec::new() };
    let read = |name: &str| source.read(format!("{directory}/{name}"));
    let tracer = read("current_tracer");
    // An empty list reads as absent. If the tracer was readable, so was the list.
    let events = tracer.is_some().then(|| read("set_event").map_or(0, |events| events.lines().count()).to_string());
    vec![("current_tracer", tracer), ("tracing_on", read("tracing_on")), ("events_enabled", events)]
}

/// Returns where the first file system of `kind` is mounted, in the form of fstab(5).
pub fn parse_mount_point(mounts: &str, kind: &str) -> Option<String> {
    let mut lines = mounts.lines().map(|line| line.split(' '));
    lines.find_map(|mut fields| {
        let point = fields.nth(1)?;
        (fields.next()? == kind).then(|| point.to_owned())
    })
}

/// Returns the value of `key` in `/proc/PID/status`.
pub fn parse_status(status: &str, key: &str) -> Option<String> {
    status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(|value| value.trim().to_owned())
}

#[cfg(test)]
mod tests;
