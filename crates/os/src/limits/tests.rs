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
