//! A run on disk survives what happens to files.

use std::fs;

use headwater_results::schema::{
    Environment, Event, LaunchRecord, Placement, RunHeader, RunStatus, SCHEMA_VERSION, Settings,
};
use tempfile::TempDir;

use super::{DOCUMENT, EVENTS, Store, read};
use crate::plan::rows;
use crate::{patterns, transports};

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
    let run = read(directory.path()).expect("a run");
    assert_eq!(run.status, RunStatus::Complete);
    assert_eq!(run.results[0].metrics[0].launches, [2e6, 2e6]);

    let (store, _) = Store::resume(directory.path()).expect("the run");
    let document = store.publish(&run).expect("room on the disk");
    assert_eq!(read(&document).expect("the document"), run);
    assert_eq!(fs::read_dir(directory.path()).expect("the directory").count(), 2, "no temporary file stays");
}

#[test]
fn a_second_run_does_not_overwrite_the_first() {
    let directory = directory_with(&[header()]);
    let error = Store::create(directory.path()).expect_err("a run is there").to_string();
    assert!(error.contains("--resume"), "{error}");
    assert!(read(directory.path()).is_ok(), "the first run is whole");
}

#[test]
fn a_torn_last_line_is_refused_by_read_and_cut_off_by_resume() {
    let directory = directory_with(&[header(), launch(0), launch(1)]);
    let path = directory.path().join(EVENTS);
    let text = fs::read_to_string(&path).expect("the events");
    let torn = &text[..text.len() - 10];
    fs::write(&path, torn).expect("room on the disk");

    let error = read(directory.path()).expect_err("torn").to_string();
    assert!(error.contains("--resume") && !error.contains('\n'), "{error}");
    assert_eq!(fs::read_to_string(&path).expect("the events"), torn, "reading changes nothing");

    let (mut store, events) = Store::resume(directory.path()).expect("whole lines are there");
    assert_eq!(events.len(), 2);
    store.append(&launch(1)).expect("room on the disk");
    assert_eq!(read(directory.path()).expect("whole again").results[0].metrics[0].launches.len(), 2);
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
