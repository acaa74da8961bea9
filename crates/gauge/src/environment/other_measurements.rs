//! Other processes of this tool that measure on this machine at this moment: each is foreign load for the other.
//!
//! They are found by their command lines in /proc, so those of all users and of containers below this one are seen; not those beside
//! or above this container, nor those that /proc hides (`hidepid`). A command line is what a process reports, and another user
//! may say anything: the result is good for a sentence to the user, and nothing else depends on it.

use super::Source;

/// The subcommands that measure.
const MEASURING: [&str; 4] = ["run", "noise", "perftest", "overhead"];

/// The most bytes of a command line that are read: its program and subcommand.
const COMMAND_BYTES_MAX: u64 = 4096;

/// Returns the numbers of these processes, but not of this one and those that have started it.
pub fn capture(source: &Source) -> Vec<u32> {
    let mut own = Vec::new();
    let mut next = number_of_self(source);
    while let Some(pid) = next {
        // A process of another PID namespace is its parent's child of number 0.
        next = parent(source, &pid.to_string()).filter(|parent| *parent > 0 && !own.contains(parent));
        own.push(pid);
    }
    let all = source.list("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let others = all.filter(|pid| !own.contains(pid));
    others.filter(|pid| measures(source, *pid)).collect()
}

fn measures(source: &Source, pid: u32) -> bool {
    let command = source.read_head(format!("/proc/{pid}/cmdline"), COMMAND_BYTES_MAX).unwrap_or_default();
    let mut words = command.split('\0');
    let program = words.next().and_then(|path| path.rsplit('/').next());
    program.is_some_and(|program| program.starts_with("headwater"))
        && words.next().is_some_and(|subcommand| MEASURING.contains(&subcommand))
}

/// Returns this process's number, as the /proc of this PID namespace has it.
fn number_of_self(source: &Source) -> Option<u32> {
    source.read("/proc/self/stat")?.split(' ').next()?.parse().ok()
}

/// Returns the parent of a process: field 4 of its `stat`, the second behind its name.
fn parent(source: &Source, process: &str) -> Option<u32> {
    let stat = source.read(format!("/proc/{process}/stat"))?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests;
