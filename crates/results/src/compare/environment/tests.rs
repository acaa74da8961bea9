//! Tests with generated environments.

use super::*;

fn check(change: impl FnOnce(&mut Environment), expect: &[(&str, &str, &str)]) {
    let mut before = Environment::default();
    before.limits.sysctl.insert("net.core.rmem_max".into(), "212992".into());
    before.cpu.affinity = vec![0, 1];
    let mut after = before.clone();
    change(&mut after);
    let found = differences(&before, &after);
    let found: Vec<_> = found.iter().map(|d| (d.what.as_str(), d.before.as_str(), d.after.as_str())).collect();
    assert_eq!(found, expect);
}

#[test]
fn equal_environments_do_not_differ() {
    check(|_| {}, &[]);
}

#[test]
fn load_and_free_memory_do_not_count() {
    check(
        |after| {
            after.load.average_1min = 7.0;
            after.load.steal_since_boot = 0.5;
            after.load.other_measurements = vec![42];
            after.load.pressure_some_avg10.insert("cpu".into(), 50.0);
            after.memory.available_bytes = 1;
        },
        &[],
    );
}

#[test]
fn each_fact_is_named_by_its_path() {
    check(
        |after| {
            after.limits.sysctl.insert("net.core.rmem_max".into(), "1048576".into());
            after.limits.resource.insert("nofile".into(), "1024".into());
            after.cpu.governor = Some("performance".into());
            after.cpu.affinity = vec![1];
            after.memory.total_bytes = 4096;
        },
        &[
            ("cpu affinity", "0,1", "1"),
            ("cpu governor", "absent", "performance"),
            ("memory total_bytes", "0", "4096"),
            ("resource nofile", "absent", "1024"),
            ("sysctl net.core.rmem_max", "212992", "1048576"),
        ],
    );
}

#[test]
fn the_priority_of_a_run_is_a_difference() {
    check(
        |after| {
            let facts = [("nice", "10"), ("policy", "batch"), ("io", "best-effort 6")];
            after.scheduling.extend(facts.map(|(name, value)| (name.into(), value.into())));
        },
        &[
            ("scheduling io", "absent", "best-effort 6"),
            ("scheduling nice", "absent", "10"),
            ("scheduling policy", "absent", "batch"),
        ],
    );
}

#[test]
fn only_an_unusual_priority_has_words() {
    let of = |facts: &[(&str, &str)]| {
        let mut environment = Environment::default();
        environment.scheduling.extend(facts.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
        environment.priority()
    };
    assert_eq!(of(&[]), None, "an old run");
    assert_eq!(of(&[("nice", "0"), ("policy", "other"), ("io", "none")]), None);
    assert_eq!(of(&[("nice", "0"), ("policy", "other"), ("io", "best-effort 4")]), None, "what nice 0 means");
    assert_eq!(of(&[("nice", "-5"), ("policy", "other")]).as_deref(), Some("nice -5"));
    assert_eq!(of(&[("policy", "fifo"), ("priority", "10")]).as_deref(), Some("policy fifo, priority 10"));
}
