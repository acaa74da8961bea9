//! Against the kernel's own table of the limits, proc_pid_limits(5).

use super::*;

#[test]
fn values_are_those_of_proc() {
    let table = std::fs::read_to_string("/proc/self/limits").expect("a process has limits");
    let rows = [
        ("nofile", "Max open files"),
        ("msgqueue", "Max msgqueue size"),
        ("memlock", "Max locked memory"),
        ("as", "Max address space"),
        ("core", "Max core file size"),
        ("stack", "Max stack size"),
    ];
    for (name, label) in rows {
        let line = table.lines().find(|line| line.starts_with(label)).expect("the kernel lists it");
        let mut words = line[label.len()..].split_ascii_whitespace().map(|word| word.parse().ok());
        let limit = get(name).expect("known");
        assert_eq!((Some(limit.soft), Some(limit.hard)), (words.next(), words.next()), "{name}");
    }
}

#[test]
fn names_are_sorted_and_unknown_ones_absent() {
    assert!(all().map(|limit| limit.name).is_sorted());
    assert_eq!(all().count(), 16);
    assert_eq!(get("nosuch"), None);
}

/// Which of three steps is wrong, in a process of its own: it lowers its limits.
fn wrong_step() -> i32 {
    let set = |soft, hard| setrlimit(Resource::Nofile, Rlimit { current: Some(soft), maximum: Some(hard) });
    let soft = || get("nofile").and_then(|limit| limit.soft);
    if set(64, 128).is_err() {
        return 1;
    }
    if allow_descriptors(32).is_err() || soft() != Some(64) || allow_descriptors(100).is_err() || soft() != Some(100) {
        return 2;
    }
    let refused = allow_descriptors(129).is_err_and(|error| error.to_string().contains("may have 128"));
    if refused && soft() == Some(100) { 0 } else { 3 }
}

#[test]
fn descriptors_are_allowed_up_to_the_hard_limit() {
    let mut child = headwater_os::child::Child::fork(wrong_step).expect("fork");
    assert_eq!(child.wait().expect("wait").code(), Some(0));
}
