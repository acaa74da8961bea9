use serde_json::{Value, json};

use super::oversized;
use crate::parse::{ParseError, parse_events, parse_events_prefix, parse_run};
use crate::schema::{Event, Run};
use crate::summary::Fold;
use crate::testing::{all_events, lines};

fn whole() -> Run {
    Fold::run_of(all_events()).expect("the events are those of a run")
}

/// Returns the reason for which a run is refused in which `value` stands at `pointer`.
fn refused(pointer: &str, value: &Value) -> String {
    let mut document = serde_json::to_value(whole()).expect("plain data");
    match document.pointer_mut(pointer) {
        Some(place) => *place = value.clone(),
        // What is empty is not written.
        None => document[&pointer[1..]] = value.clone(),
    }
    let text = serde_json::to_string_pretty(&document).expect("plain data");
    match parse_run(&text) {
        Err(error @ ParseError::Malformed { .. }) => error.to_string(),
        Err(other) => panic!("{pointer}: {other}"),
        Ok(_) => panic!("{pointer}: {value} is accepted"),
    }
}

#[test]
fn every_damaged_value_of_a_run_is_refused_with_its_name() {
    let long = "x".repeat(100_000);
    let measured = whole().results.iter().position(|result| !result.metrics.is_empty()).expect("a figure");
    let metric = format!("/results/{measured}/metrics/0");
    let at = |rest: &str| format!("{metric}{rest}");
    let row = |rest: &str| format!("/results/{measured}/row{rest}");
    let id = whole().results[measured].row.id.clone();
    let estimate = whole().results[measured].metrics[0].estimate;
    for (pointer, value, says) in [
        (at("/estimate/median"), json!(estimate.high + 1.0), "is not in its interval"),
        (at("/estimate/median"), json!(estimate.low - 1.0), "is not in its interval"),
        (at("/estimate/low"), json!(estimate.high + 1.0), "is not in its interval"),
        (at("/estimate/low"), json!(1e300), "is not in its interval"),
        (at("/estimate/confidence"), json!(1.5), "the confidence"),
        (at("/estimate/confidence"), json!(-0.5), "the confidence"),
        (at("/estimate/n"), json!(u32::MAX), "the estimate is of"),
        (at("/launches"), json!([]), "there are 0 launches"),
        (at("/blocks"), json!([0, 1]), "blocks of 2"),
        (at("/name"), json!(long), "name has 100000 bytes, more than 4096"),
        (at("/unit"), json!(long), "unit has 100000"),
        (row("/id"), json!(long), "id has 100000"),
        (row("/subject"), json!(long), "subject has 100000"),
        ("/environment/host".into(), json!(long), "host has 100000 bytes, more than 4096"),
        ("/environment/kernel/release".into(), json!(long), "release has 100000"),
        ("/run_id".into(), json!(long), "run_id has"),
        ("/started_at".into(), json!(long), "started_at has"),
        ("/labels".into(), json!({ "commit": long }), "commit has"),
        ("/labels".into(), json!({ (long.clone()): "x" }), "a name has 100000"),
        ("/command".into(), json!(["x".repeat(200_000)]), "command has 200000 bytes, more than 131072"),
        ("/settings/time_s".into(), json!(-1.0), "time_s is -1"),
        ("/clock_read_ns".into(), json!(-1.0), "clock_read_ns"),
    ] {
        let error = refused(&pointer, &value);
        assert!(error.contains(says), "{pointer}: {error}");
        if pointer.starts_with(&metric) && !error.contains("bytes") {
            assert!(error.contains(&id), "{pointer}: {error}");
        }
    }
}

#[test]
fn a_refused_value_is_named_with_its_line() {
    let mut run = whole();
    let place = run.results.iter().position(|result| !result.metrics.is_empty()).expect("a figure");
    run.results[place].metrics[0].estimate.median = f64::MAX;
    let text = serde_json::to_string_pretty(&run).expect("plain data");
    let line =
        text.lines().position(|line| line.contains(&format!("\"{}\"", run.results[place].row.id))).expect("its row")
            + 1;
    let error = parse_run(&text).expect_err("no interval has this median");
    assert_eq!(error.line(), line, "{error}");
}

#[test]
fn a_damaged_event_ends_the_events_at_its_line() {
    let long = "x".repeat(100_000);
    let events = all_events();
    for at in 0..events.len() {
        let mut damaged = events.clone();
        match &mut damaged[at] {
            Event::RunStarted(header) => header.environment.host.clone_from(&long),
            Event::RowSkipped { row, .. } => row.id.clone_from(&long),
            Event::LaunchFinished(record) => record.row.clone_from(&long),
            Event::LaunchFailed { row, .. } => row.clone_from(&long),
            Event::RunResumed { at, .. } => at.clone_from(&long),
            Event::RunFinished { environment, .. } => environment.host.clone_from(&long),
        }
        let (before, error) = parse_events_prefix(&lines(&damaged));
        assert_eq!(before, events[..at]);
        let error = error.unwrap_or_else(|| panic!("{at}: {:?}", damaged[at]));
        assert!(error.line() == at + 1 && error.to_string().contains("100000"), "{error}");
    }
    assert_eq!(parse_events(&lines(&events)), Ok(events));
}

#[test]
fn strings_are_measured_whatever_they_contain() {
    let name = |len: usize| "x".repeat(len);
    for (json, is_oversized) in [
        (format!("{{\"host\": \"{}\"}}", name(4096)), false),
        (format!("{{\"host\": \"{}\"}}", name(4097)), true),
        (format!("{{\"{}\": 1}}", name(4097)), true),
        (format!("{{\"reason\": \"{}\"}}", name(131_072)), false),
        (format!("{{\"reason\": \"{}\"}}", name(131_073)), true),
        (format!("{{\"command\": [\"a\", \"{}\"]}}", name(131_072)), false),
        (format!("{{\"command\": [\"a\"], \"host\": \"{}\"}}", name(4097)), true),
        (format!("{{\"a\": \"\\\"{}\"}}", name(4094)), false),
        (format!("{{\"a\": \"\\\"{}\"}}", name(4095)), true),
        ("{\"a\": \"\\\\\", \"b\": \"\"}".to_owned(), false),
        (format!("\"{}", name(4097)), true),
        ("\"".to_owned(), false),
        ("\"\\".to_owned(), false),
        (String::new(), false),
    ] {
        assert_eq!(oversized(&json).is_some(), is_oversized, "{}", json.chars().take(80).collect::<String>());
    }
}
