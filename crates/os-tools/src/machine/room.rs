//! How much memory a process could still take before the kernel kills a process for it: of the machine, and of the
//! control groups of this process.

use std::fs;
use std::path::Path;

use super::cgroup::{Group, Hierarchy};

/// Bytes that this process could still take, as far as it can be known: the least of what the machine has (`MemAvailable` of
/// proc_meminfo(5)) and of what its control groups allow. Memory that holds cached files counts as free.
pub fn available_bytes() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_machine(&text));
    let groups = Group::own().into_iter().flat_map(|group| {
        let files = files(&group);
        group.directories.into_iter().filter_map(move |directory| of_group(&directory, files?))
    });
    groups.chain(machine).min()
}

/// The `MemAvailable` of `/proc/meminfo`, bytes.
fn of_machine(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The files of a generation of control groups: limit, usage, and in `memory.stat` the cached files that are easily
/// freed.
#[derive(Clone, Copy, Debug)]
struct Files {
    limit: &'static str,
    usage: &'static str,
    cached: &'static str,
}

fn files(group: &Group) -> Option<Files> {
    match group.hierarchy {
        Hierarchy::V2 => Some(Files { limit: "memory.max", usage: "memory.current", cached: "inactive_file" }),
        Hierarchy::V1 if group.controllers.iter().any(|name| name == "memory") => Some(Files {
            limit: "memory.limit_in_bytes",
            usage: "memory.usage_in_bytes",
            cached: "total_inactive_file",
        }),
        Hierarchy::V1 => None,
    }
}

/// The bytes that the group in `directory` leaves; `None` without a limit.
fn of_group(directory: &Path, files: Files) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(directory.join(name)).ok();
    // "max" where there is none.
    let limit: u64 = read(files.limit)?.trim().parse().ok()?;
    let usage: u64 = read(files.usage)?.trim().parse().ok()?;
    let statistics = read("memory.stat").unwrap_or_default();
    let cached = statistics.lines().find_map(|line| line.strip_prefix(files.cached)?.trim().parse::<u64>().ok());
    Some(limit.saturating_sub(usage.saturating_sub(cached.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_some_and_says_so_in_kilobytes() {
        assert!(available_bytes().expect("proc is mounted") > 0);
        assert_eq!(of_machine("MemTotal: 3 kB\nMemAvailable:    2 kB\n"), Some(2048));
        assert_eq!(of_machine("MemTotal: 3 kB\n"), None);
    }

    #[test]
    fn a_group_leaves_its_limit_less_what_cannot_be_freed() {
        let directory = std::env::temp_dir().join(format!("headwater-test-room-{}", std::process::id()));
        fs::create_dir(&directory).expect("new");
        let group = Group { hierarchy: Hierarchy::V2, controllers: Vec::new(), directories: Vec::new() };
        let left = |limit: &str, usage: &str| {
            fs::write(directory.join("memory.max"), limit).expect("written");
            fs::write(directory.join("memory.current"), usage).expect("written");
            of_group(&directory, files(&group).expect("version 2"))
        };
        assert_eq!(left("1000\n", "300\n"), Some(700));
        fs::write(directory.join("memory.stat"), "anon 1\ninactive_file 200\n").expect("written");
        let found = (left("1000\n", "300\n"), left("max\n", "300\n"), left("100\n", "500\n"));
        fs::remove_dir_all(&directory).expect("ours");
        assert_eq!(found, (Some(900), None, Some(0)));
    }
}
