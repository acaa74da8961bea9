//! Tests of the ratio to the pipe in the same blocks, and of its words.

use headwater_results::schema::{Metric, Placement, Row, Standing};

use super::*;
use crate::style::Style;
use crate::testing::TestRun;

fn row(subject: &str, pattern: &str, unit: &str, better: Better) -> Row {
    let metric = |name: &str, unit: &str, better| Metric { name: name.to_owned(), unit: unit.to_owned(), better };
    Row {
        id: format!("{subject}/{pattern}/64/two-cpus"),
        subject: subject.to_owned(),
        pattern: pattern.to_owned(),
        definition_version: 1,
        standing: Standing::Candidate,
        placement: Placement::TwoCpus,
        size_bytes: Some(64),
        messages: None,
        workers: None,
        worker_kind: None,
        policy: None,
        variant: None,
        metrics: vec![metric("own", unit, better), metric("cpu", "ns", Better::Lower)],
    }
}

/// Returns the words about the second subject, given the figures of the pipe.
fn words(unit: &str, better: Better, pipe: [f64; 2], other: [f64; 2]) -> (Option<String>, bool) {
    let mut made = TestRun::new(12);
    made.measure(&row("pipe", "paced-100", unit, better), &pipe, 0.02);
    made.measure(&row("other", "paced-100", unit, better), &other, 0.02);
    let run = made.run(None);
    let groups = groups(&measured(&run));
    let [(_, _, group)] = &groups[..] else { panic!("one group") };
    (group[1].words.clone(), group[1].costs_more)
}

#[test]
fn longer_durations_and_lower_rates_are_slower_than_a_pipe() {
    let slower = (Some("slower than a pipe".to_owned()), false);
    assert_eq!(words("ns", Better::Lower, [100.0, 10.0], [150.0, 10.0]), slower);
    assert_eq!(words("messages/s", Better::Higher, [100.0, 10.0], [50.0, 10.0]), slower);
    let faster = (Some("faster than a pipe".to_owned()), false);
    assert_eq!(words("ns", Better::Lower, [100.0, 10.0], [50.0, 10.0]), faster);
}

#[test]
fn indistinguishable_figures_get_no_word() {
    assert_eq!(words("ns", Better::Lower, [100.0, 10.0], [100.5, 10.2]), (None, false));
}

#[test]
fn cpu_time_is_mentioned_beyond_a_tenth() {
    assert_eq!(words("ns", Better::Lower, [100.0, 10.0], [100.0, 13.0]), (None, true));
}

#[test]
fn a_figure_above_a_reference_of_zero_is_worse() {
    assert_eq!(words("writes", Better::Lower, [0.0, 10.0], [1000.0, 10.0]).0.as_deref(), Some("more than a pipe"));
}

#[test]
fn the_page_and_the_verdict_say_slower_than_a_pipe() {
    let mut made = TestRun::new(12);
    made.measure(&row("pipe", "paced-100", "ns", Better::Lower), &[100.0, 10.0], 0.02);
    made.measure(&row("streams-pipe", "paced-100", "ns", Better::Lower), &[400.0, 30.0], 0.02);
    let run = made.run(None);
    let text = crate::terminal(&run, &Style { colour: false, width: 120, unicode: true });
    assert!(text.contains("slower than a pipe"), "{text}");
    let verdict = crate::verdict(&run).join("\n");
    let expected =
        "streams-pipe is worse than the kernel's pipe in 1 of 1 row, most of all in: 100 messages a second, 64 B";
    assert!(verdict.contains(expected), "{verdict}");
}
