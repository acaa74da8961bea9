//! A run on disk survives what happens to files.

use std::fs;

use headwater_gauge::plan::rows;
use headwater_gauge::{patterns, transports};
use headwater_results::schema::{
    Environment, Event, LaunchRecord, Placement, RunHeader, RunStatus, SCHEMA_VERSION, Settings,
};
use tempfile::TempDir;

use super::{DOCUMENT, EVENTS, Store, read};

fn header() -> Event {
    let (transport, pattern) = (transports::find("pipe").expect("pipe"), patterns::find("stream").expect("stream"));
    Event::RunStarted(Box::new(RunHeader {
        schema_version: SCHEMA_VERSION,
        headwater_version: "0".into(),
        run_id: "test".into(),
        started_at: "2026-01-01T00:00:00Z".into(),
        command: vec!["headwater".into()],
        program: None,
        variant_programs: std::collections::BTreeMap::new(),
        labels: std::collections::BTreeMap::new(),
        settings: Settings {
            selection: vec![],
            launches: 2,
            time_s: 0.1,
            warm_up_s: 0.01,
            budget_s: None,
            seed: 1,
            placements: vec![Placement::Free],
            transport_commands: vec![],
            variants: vec![],
        },
        rows: vec![rows::of_transport(transport.info, pattern.info, 64, None, Placement::Free)],
        environment: Environment::default(),
        clock_read_ns: 30.0,
        clock_resolution_ns: 1.0,
    }))
}

fn launch(block: u32) -> Event {
    Event::LaunchFinished(Box::new(LaunchRecord {
        row: "pipe/stream/64/free".into(),
        block,
        series: [("rate".to_owned(), vec![1e6, 2e6, 3e6])].into(),
        ..LaunchRecord::default()
    }))
}

fn directory_with(events: &[Event]) -> TempDir {
    let directory = TempDir::new().expect("a temporary directory");
    let mut store = Store::create(directory.path()).expect("an empty directory");
    for event in events {
        store.append(event).expect("room on the disk");
    }
    directory
}

#[test]
fn what_was_appended_is_read_back() {
    let end = Event::RunFinished { status: RunStatus::Complete, environment: Box::default() };
    let directory = directory_with(&[header(), launch(0), launch(1), end]);
    let run = read(directory.path()).expect("a run").run;
    assert_eq!(run.status, RunStatus::Complete);
    assert_eq!(run.results[0].metrics[0].launches, [2e6, 2e6]);

    let (store, _) = Store::resume(directory.path()).expect("the run");
    let document = store.publish(&run).expect("room on the disk");
    assert_eq!(read(&document).expect("the document").run, run);
    assert_eq!(fs::read_dir(directory.path()).expect("the directory").count(), 2, "no temporary file stays");
}

#[test]
fn a_second_run_does_not_overwrite_the_first() {
    let directory = directory_with(&[header()]);
    let error = Store::create(directory.path()).expect_err("a run is there").to_string();
    assert!(error.contains("--resume"), "{error}");
    assert!(read(directory.path()).is_ok(), "the first run is whole");
}

/// The end of a run, and what two launches make.
fn whole_run() -> TempDir {
    let end = Event::RunFinished { status: RunStatus::Complete, environment: Box::default() };
    let directory = directory_with(&[header(), launch(0), launch(1), end]);
    let run = read(directory.path()).expect("a run").run;
    let (store, _) = Store::resume(directory.path()).expect("the run");
    store.publish(&run).expect("room on the disk");
    directory
}

#[test]
fn a_torn_last_line_is_left_out_by_read_and_cut_off_by_resume() {
    let directory = directory_with(&[header(), launch(0), launch(1)]);
    let path = directory.path().join(EVENTS);
    let text = fs::read_to_string(&path).expect("the events");
    let torn = &text[..text.len() - 10];
    fs::write(&path, torn).expect("room on the disk");

    let stored = read(directory.path()).expect("the first launch is there");
    assert_eq!(stored.run.results[0].metrics[0].launches.len(), 1);
    let said = stored.torn.expect("a line is torn");
    assert!(said.contains("--resume") && said.contains("1 launches") && !said.contains('\n'), "{said}");
    assert_eq!(fs::read_to_string(&path).expect("the events"), torn, "reading changes nothing");

    let (mut store, events) = Store::resume(directory.path()).expect("whole lines are there");
    assert_eq!(events.len(), 2);
    store.append(&launch(1)).expect("room on the disk");
    let stored = read(directory.path()).expect("whole again");
    assert_eq!((stored.run.results[0].metrics[0].launches.len(), stored.torn), (2, None));
}

#[test]
fn events_cut_anywhere_behind_the_first_are_a_run_of_the_whole_lines() {
    let directory = whole_run();
    fs::remove_file(directory.path().join(DOCUMENT)).expect("it is there");
    let path = directory.path().join(EVENTS);
    let text = fs::read(&path).expect("the events");
    let first = text.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    for length in (0..text.len()).step_by(7).chain([first - 1, first, first + 1, text.len() - 1]) {
        fs::write(&path, &text[..length]).expect("room on the disk");
        let whole = text[..length].iter().filter(|byte| **byte == b'\n').count();
        match read(directory.path()) {
            Ok(stored) => {
                let launches = stored.run.results[0].metrics.first().map_or(0, |metric| metric.launches.len());
                assert!(length >= first, "{length}");
                assert_eq!(launches, (whole - 1).min(2), "{length}");
                assert_eq!(stored.torn.is_some(), text[length - 1] != b'\n', "{length}");
            }
            Err(error) => assert!(length < first, "{length}: {error}"),
        }
    }
}

#[test]
fn damage_in_the_events_keeps_what_is_before_it() {
    let directory = directory_with(&[header(), launch(0), launch(1)]);
    let path = directory.path().join(EVENTS);
    let text = fs::read(&path).expect("the events");
    let second = text.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    for damage in [&b"\0\0\0\0"[..], b"\xff\xfe", b"{}\n", b"hello\n"] {
        let damaged = [&text[..second], damage, &text[second..]].concat();
        fs::write(&path, damaged).expect("room on the disk");
        let stored = read(directory.path()).expect("the first line is there");
        let said = stored.torn.expect("a line is damaged");
        assert!(said.contains("line 2") && said.contains("0 launches"), "{said}");
        assert!(stored.run.results[0].metrics.is_empty());
    }
}

#[test]
fn a_document_cut_anywhere_is_replaced_by_the_events_beside_it() {
    let directory = whole_run();
    let path = directory.path().join(DOCUMENT);
    let text = fs::read(&path).expect("the document");
    let whole = read(directory.path()).expect("a run").run;
    // A line feed at its end is not missed.
    for length in (0..text.len() - 1).step_by(97) {
        fs::write(&path, &text[..length]).expect("room on the disk");
        let stored = read(directory.path()).expect("the events are there");
        assert_eq!(stored.run.results, whole.results, "{length}");
        assert!(stored.torn.expect("the document is torn").contains("run.jsonl beside it is read"), "{length}");
        let error = read(&path).expect_err("only the document was asked for").to_string();
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_newer_schema_and_a_file_that_is_no_run_are_told_apart() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join(DOCUMENT);
    for (text, words) in [
        (r#"{"schema_version": 99, "something": "new"}"#, "newer"),
        (r#"{"hello": 1}"#, "run.json"),
        ("PK\u{3}\u{4}", "run.json"),
        ("", "run.json"),
    ] {
        fs::write(&path, text).expect("room on the disk");
        let error = read(&path).expect_err(text).to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{text}: {error}");
    }
    let error = read(&directory.path().join("missing")).expect_err("nothing there").to_string();
    assert!(error.contains("missing"), "{error}");
}
