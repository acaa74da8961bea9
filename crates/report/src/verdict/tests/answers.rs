//! The short answers of a page.

use super::*;

/// Checks the short answers for rows with these figures in `launches` launches, varied by 1 %.
fn check_answers(launches: u32, rows: &[(Row, f64)], expected: Expect) {
    let mut made = TestRun::new(launches);
    for (row, value) in rows {
        made.measure(row, &[*value], 0.01);
    }
    let found: String =
        answers(&made.run(Some(RunStatus::Complete))).iter().map(|words| format!("{words}\n")).collect();
    expected.assert_eq(&found);
}

#[test]
fn each_use_is_answered_in_a_sentence_with_its_condition() {
    let delay = |subject: &str, pattern: &str, ns: f64| {
        let metrics = messaging(subject, CANDIDATE, "rtt", 64).metrics;
        (Row { metrics, ..messaging(subject, CANDIDATE, pattern, 64) }, ns)
    };
    let rows = [
        stream("pipe", 64, 3e6),
        stream("tcp", 64, 1e6),
        stream("streams-pipe", 64, 2.4e7),
        stream("pipe", 65_536, 3e4),
        stream("tcp", 65_536, 4e4),
        stream("streams-pipe", 65_536, 2e4),
        delay("pipe", "rtt", 45_000.0),
        delay("fifo", "rtt", 45_010.0),
        delay("streams-pipe", "rtt", 500.0),
        delay("pipe", "wake", 26_000.0),
        delay("streams-pipe", "wake", 26_100.0),
    ];
    check_answers(
        12,
        &rows,
        expect![[r#"
        A stream of messages: pipe at 64 B, tcp at 64 KiB; streams-pipe is 8.0 to 8.1 times as fast as pipe at 64 B and is 2.0 times slower than tcp at 64 KiB while both ends run.
        Request and answer: pipe or fifo; streams-pipe is 89 to 90 times as fast as pipe while both ends run.
        A message to a sleeping reader: streams-pipe is as fast as pipe.
    "#]],
    );
    let placed: Vec<(Row, f64)> = rows[..3]
        .iter()
        .flat_map(|(row, rate)| [(row.clone(), *rate), (placed(row.clone(), Placement::SameCpu), *rate)])
        .collect();
    check_answers(
        12,
        &placed,
        expect![[r#"
        A stream of messages (two CPUs): pipe; streams-pipe is 8.0 times as fast as pipe while both ends run.
    "#]],
    );
    check_answers(3, &rows, expect![[""]]);
    check_answers(1, &rows, expect![[""]]);
}

#[test]
fn an_answer_over_many_changes_of_the_best_is_the_one_that_is_never_far_behind() {
    let mut rows = Vec::new();
    for (index, size) in [1, 2, 4, 8, 16, 32].into_iter().enumerate() {
        rows.push(stream("pipe", size, 2e6));
        rows.push(stream("fifo", size, if index % 2 == 0 { 2.6e6 } else { 1e6 }));
    }
    check_answers(
        12,
        &rows,
        expect![[r#"
        A stream of messages: pipe (never more than 1.3 times slower than the fastest).
    "#]],
    );
    check_answers(
        12,
        &rows[..6],
        expect![[r#"
        A stream of messages: fifo at 1 B, pipe at 2 B, fifo at 4 B.
    "#]],
    );
}

#[test]
fn a_mechanism_is_not_the_fastest_where_no_other_one_is_measured() {
    let mut made = TestRun::new(12);
    for subject in ["pipe", "tcp", "fifo"] {
        made.measure(&messaging(subject, CANDIDATE, "wake", 64), &[1e4], 0.01);
    }
    let mut run = made.run(Some(RunStatus::Complete));
    for (at, factor) in [(1, 6.0), (2, 22.0)] {
        let metric = &mut run.results[at].metrics[0];
        metric.launches.iter_mut().step_by(2).for_each(|value| *value *= factor);
        metric.estimate = headwater_results::estimate::Estimate::of_launches(&metric.launches).expect("launches");
    }
    assert_eq!(answers(&run), ["A message to a sleeping reader: only pipe was measured."]);
    expect![[r#"
        A message to a sleeping reader (two CPUs): at 64 B only pipe was measured (10.0 us); tcp and fifo are not measured: their launches differ by factors of 6 to 22.
    "#]].assert_eq(&(verdict(&run).join("\n") + "\n"));
}

#[test]
fn a_rival_of_the_best_is_named_in_the_answer() {
    let made = spread(&[("pipe", 2e6, 0.02), ("fifo", 1.9e6, 0.5), ("tcp", 2e5, 0.6)]);
    let found = answers(&made.run(Some(RunStatus::Complete)));
    assert_eq!(found, ["A stream of messages: pipe (fifo may be faster)."]);
}
