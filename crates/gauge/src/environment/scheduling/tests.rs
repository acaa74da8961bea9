use super::*;

fn check(name: &str, nice: &str, priority: &str, policy: &str, expect: &[(&str, &str)]) {
    let zeros = |count: usize| vec!["0"; count].join(" ");
    // Fields 3 to 18, nice, 20 to 39, the priority, the policy, and more.
    let stat = format!("42 ({name}) S {} {nice} {} {priority} {policy} 0 0", zeros(15), zeros(20));
    let expect: Fact = expect.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    assert_eq!(parse_stat(&stat), expect, "{stat}");
}

#[test]
fn nice_value_policy_and_priority_are_read_whatever_the_program_is_called() {
    check("headwater", "0", "0", "0", &[("nice", "0"), ("policy", "other")]);
    check("a) S 1 (b", "-5", "0", "3", &[("nice", "-5"), ("policy", "batch")]);
    check("x", "0", "10", "1", &[("nice", "0"), ("policy", "fifo"), ("priority", "10")]);
    check("x", "19", "0", "5", &[("nice", "19"), ("policy", "idle")]);
    check("x", "0", "0", "99", &[("nice", "0"), ("policy", "99")]);
    assert_eq!(parse_stat("42 (torn) S 0"), Fact::new());
    assert_eq!(parse_stat(""), Fact::new());
}

#[test]
fn io_priorities_are_named_as_ionice_names_them() {
    for (priority, expect) in
        [(0, "none"), (4 | 2 << 13, "best-effort 4"), (1 << 13, "real-time 0"), (3 << 13 | 7, "idle")]
    {
        assert_eq!(io_words(priority), expect);
    }
}

#[test]
fn this_process_knows_how_it_is_scheduled() {
    let facts = capture(&Source::machine());
    assert!(["nice", "policy", "io"].iter().all(|name| facts.contains_key(*name)), "{facts:?}");
}
