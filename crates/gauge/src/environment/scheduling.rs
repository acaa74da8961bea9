//! How the kernel schedules this process: nice value, policy, real-time priority, I/O priority. What it starts inherits them, but a
//! variant's wrapper (`chrt`, `nice`) may change them for its launches.

use headwater_os_tools::machine;
use headwater_results::schema::Fact;

use super::Source;

/// The scheduling policies by number (sched(7)).
const POLICIES: [&str; 8] = ["other", "fifo", "rr", "batch", "4", "idle", "deadline", "ext"];

/// The I/O classes by number (ioprio_set(2)).
const IO_CLASSES: [&str; 4] = ["none", "real-time", "best-effort", "idle"];

/// Captures how this process is scheduled.
pub fn capture(source: &Source) -> Fact {
    let mut facts = source.read("/proc/self/stat").map_or_else(Fact::new, |stat| parse_stat(&stat));
    if let Ok(priority) = machine::io_priority() {
        facts.insert("io".to_owned(), io_words(priority));
    }
    facts
}

/// Parses nice value, policy and real-time priority of `/proc/PID/stat` (proc_pid_stat(5)). Fields are counted behind the name, which
/// may contain anything.
pub fn parse_stat(stat: &str) -> Fact {
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace().collect();
    // The first of them is field 3.
    let field = |number: usize| fields.get(number - 3).copied();
    let policy =
        field(41).map(|text| text.parse().ok().and_then(|at: usize| POLICIES.get(at).copied()).unwrap_or(text));
    let priority = field(40).filter(|priority| *priority != "0");
    let found = [("nice", field(19)), ("policy", policy), ("priority", priority)];
    found.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect()
}

/// Returns an I/O priority in words, as ionice(1) has them.
pub fn io_words(priority: u32) -> String {
    let (class, level) = (priority >> 13, priority & 7);
    match IO_CLASSES.get(class as usize).copied() {
        Some(name @ ("real-time" | "best-effort")) => format!("{name} {level}"),
        Some(name) => name.to_owned(),
        None => priority.to_string(),
    }
}

#[cfg(test)]
mod tests;
