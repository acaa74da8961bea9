//! Tests of limits of groups of both generations, with sample trees.

use std::fs;
use std::path::PathBuf;

use super::*;

/// Checks the facts of `groups` (generation, controllers, directories) with `files` in them.
fn check(groups: &[(Hierarchy, &str, &[&str])], files: &[(&str, &str)], expect: &[(&str, &str)]) {
    let root = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("it has a directory")).expect("created");
        fs::write(path, text).expect("written");
    }
    let groups: Vec<Group> = groups
        .iter()
        .map(|(hierarchy, controllers, directories)| Group {
            hierarchy: *hierarchy,
            controllers: controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            directories: directories.iter().map(|path| PathBuf::from("/").join(path)).collect(),
        })
        .collect();
    let expect: Fact = expect.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!(capture(&Source::below(root.path()), &groups), expect);
}

#[test]
fn the_lowest_limit_of_all_ancestors_holds() {
    check(
        &[(Hierarchy::V2, "", &["cg/a/b", "cg/a", "cg"])],
        &[
            ("cg/a/b/cpu.max", "max 100000\n"),
            ("cg/a/cpu.max", "150000 100000\n"),
            ("cg/a/b/memory.max", "1073741824\n"),
            ("cg/a/memory.max", "2147483648\n"),
            ("cg/a/b/pids.max", "max\n"),
            ("cg/a/b/cpuset.cpus.effective", "0-1\n"),
        ],
        &[
            ("version", "2"),
            ("cpu.max", "150000 100000"),
            ("memory.max", "1073741824"),
            ("cpuset.cpus.effective", "0-1"),
        ],
    );
}

#[test]
fn version_1_is_converted_to_the_names_of_version_2() {
    check(
        &[
            (Hierarchy::V1, "cpu,cpuacct", &["cpu"]),
            (Hierarchy::V1, "memory", &["mem"]),
            (Hierarchy::V2, "", &["unified"]),
        ],
        &[
            ("cpu/cpu.cfs_quota_us", "50000\n"),
            ("cpu/cpu.cfs_period_us", "100000\n"),
            ("cpu/cpu.shares", "1024\n"),
            ("mem/memory.limit_in_bytes", "9223372036854771712\n"),
        ],
        &[("version", "1"), ("cpu.max", "50000 100000"), ("cpu.shares", "1024")],
    );
}

#[test]
fn unlimited_version_1_quota_is_no_limit() {
    let files = [("cpu/cpu.cfs_quota_us", "-1\n"), ("cpu/cpu.cfs_period_us", "100000\n")];
    check(&[(Hierarchy::V1, "cpu", &["cpu"])], &files, &[("version", "1")]);
}

#[test]
fn no_groups_are_no_facts() {
    check(&[], &[], &[]);
}

#[test]
fn a_quota_is_converted_to_cpus() {
    assert_eq!(parse_cpu_max("150000 100000"), Some(1.5));
    assert_eq!(parse_cpu_max("max 100000"), None);
    assert_eq!(parse_cpu_max("-1 100000"), None);
    assert_eq!(parse_cpu_max("100000"), None);
}
