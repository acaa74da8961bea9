//! Tests of tracing with sample trees: tracefs is read only if it is mounted.

use std::fs;

use super::*;

const STATUS: &str = "Name:\theadwater\nTracerPid:\t4711\nSeccomp:\t2\nSeccomp_filters:\t3\n";

fn check(files: &[(&str, &str)], expect: &[(&str, &str)]) {
    let root = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("it has a directory")).expect("created");
        fs::write(path, text).expect("written");
    }
    let expect: Fact = expect.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!(capture(&Source::below(root.path())), expect);
}

#[test]
fn debugger_and_filters_are_of_this_process() {
    let files = [("proc/self/status", STATUS), ("proc/sys/kernel/perf_event_paranoid", "2\n")];
    let expect = [("tracer_pid", "4711"), ("seccomp", "2"), ("seccomp_filters", "3"), ("perf_event_paranoid", "2")];
    check(&files, &expect);
}

#[test]
fn mounted_tracefs_is_read() {
    let files = [
        ("proc/self/mounts", "proc /proc proc rw 0 0\ntracefs /sys/kernel/tracing tracefs rw 0 0\n"),
        ("sys/kernel/tracing/current_tracer", "function\n"),
        ("sys/kernel/tracing/tracing_on", "1\n"),
        ("sys/kernel/tracing/set_event", "sched:sched_switch\nsched:sched_wakeup\n"),
    ];
    check(&files, &[("current_tracer", "function"), ("tracing_on", "1"), ("events_enabled", "2")]);
}

#[test]
fn unmounted_tracefs_is_left_alone() {
    let files = [("proc/self/mounts", "proc /proc proc rw 0 0\n"), ("sys/kernel/tracing/current_tracer", "function\n")];
    check(&files, &[]);
}
