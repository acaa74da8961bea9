use super::*;

const NOW: u64 = 1_800_000_000;

fn parse(written: &str) -> anyhow::Result<Query> {
    Query::parse(written, UNIX_EPOCH + Duration::from_secs(NOW))
}

/// Returns the condition of a query without the part that every query has, and its parameters.
fn condition(written: &str) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let condition = parse(written).expect("a query").condition(&mut values);
    (condition.replace("NOT EXISTS (SELECT 1 FROM superseded s WHERE s.run = r.id) AND ", ""), values)
}

#[test]
fn terms_hold_together_and_values_of_one_term_are_alternatives() {
    let (condition, values) = condition("host=a,host=b*,commit!=c\\,d");
    let label = "NOT (EXISTS (SELECT 1 FROM label l WHERE l.run = r.id AND l.name = $3 AND l.value = $4))";
    assert_eq!(condition, format!("(m.host = $1 OR m.host LIKE $2 ESCAPE '\\') AND {label}"));
    assert_eq!(values, ["a", "b%", "commit", "c,d"].map(text));
}

#[test]
fn a_release_is_a_beginning_as_far_as_a_dot() {
    let (_, values) = condition("kernel=6.1");
    assert_eq!(values, ["6.1", "6.1.%", "6.1-%", "6.1+%"].map(text));
}

#[test]
fn nothing_that_a_user_writes_is_part_of_the_statement() {
    let evil = "x'; DROP TABLE run; --%_\\\\";
    for name in ["host", "kernel", "program", "digest", "run", "commit'", "cpu"] {
        let (condition, _) = condition(&format!("{name}={evil}"));
        assert!(!condition.contains("DROP") && !condition.contains("commit"), "{condition}");
    }
    let (_, values) = condition(&format!("digest={evil}"));
    assert_eq!(values, [text("x'; DROP TABLE run; --\\%\\_\\\\%")]);
}

#[test]
fn times_are_dates_or_durations() {
    assert_eq!(condition("since=2026-11-01").1, [Value::Integer(1_793_491_200)]);
    assert_eq!(condition("until=2026-11-01T00:00:10Z").1, [Value::Integer(1_793_491_210)]);
    assert_eq!(condition("since=7d").1, [Value::Integer(NOW as i64 - 7 * 86_400)]);
}

#[test]
fn the_newest_are_chosen_among_those_that_match() {
    let (condition, values) = condition("host=a,last=5");
    assert!(condition.contains("(m.host = $1) ORDER BY r.started DESC, r.id DESC LIMIT $2"), "{condition}");
    assert_eq!(values, [text("a"), Value::Integer(5)]);
}

#[test]
fn a_wrong_term_is_named_with_what_would_be_right() {
    for (written, says) in [
        ("host=", "NAME=VALUE"),
        ("=a", "NAME=VALUE"),
        ("last=x", "last=5"),
        ("last=0", "last=5"),
        ("last=1,first=1", "one last or first"),
        ("since=tomorrow", "2026-11-01"),
        ("since!=7d", "take no !"),
    ] {
        let error = format!("{:#}", parse(written).expect_err(written));
        assert!(error.contains(says) && error.contains(written), "{error}");
    }
}
