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
