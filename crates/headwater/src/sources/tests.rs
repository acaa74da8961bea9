use std::fs;

use headwater_gauge::{facilities, patterns};
use headwater_results::published;
use headwater_results::schema::{Placement, Row, transport_definition};

use super::{load, load_all};
use crate::store;

fn error(name: &str) -> String {
    format!("{:#}", load(name).expect_err("there is no such run"))
}

#[test]
fn a_table_gives_all_its_datasets_and_a_dataset_one() {
    let all = load("published:pipes").expect("the table exists");
    assert_eq!(all.len(), 10);
    assert_eq!(all[0].0, all[0].1.header.run_id);
    let one = load("published:pipes/fc6").expect("the dataset exists");
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].0, "published:pipes/fc6");
    let both = load_all(&["published:ipc", "published:udp/1"]).expect("both exist");
    assert_eq!(
        both.runs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["published:ipc/fedora20", "published:udp/1"]
    );
}

#[test]
fn every_run_has_a_name_of_its_own_and_answers_to_what_was_typed() {
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let (_, run) = load("published:sync").expect("the table exists").remove(0);
    let typed = ["a/run", "b/run/", "run"].map(|name| {
        let path = scratch.path().join(name);
        store::Store::create(&path).and_then(|store| store.publish(&run)).expect("the directory is writable");
        path.to_str().expect("a path of letters").to_owned()
    });
    let loaded = load_all(&typed).expect("three runs");
    assert_eq!(loaded.runs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["run", "run (2)", "run (3)"]);
    let names = |wanted: &[&str]| wanted.iter().map(|name| loaded.name_of(name)).collect::<Vec<_>>();
    let [a, b, c] = &typed;
    assert_eq!(names(&[a, b, c]), [Some("run"), Some("run (2)"), Some("run (3)")]);
    assert_eq!(names(&[&format!("{a}/"), b.trim_end_matches('/')]), [Some("run"), Some("run (2)")]);
    assert_eq!(names(&["run (2)", "run", "b"]), [Some("run (2)"), Some("run"), None]);
    let twice = load_all(&["published:fifo", "published:fifo"]).expect("a table");
    let mut names: Vec<&String> = twice.runs.iter().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), twice.runs.len());
}

#[test]
fn a_wrong_name_gets_the_nearest_and_the_list() {
    assert_eq!(
        error("published:pipe/fc6"),
        "published:pipe/fc6: no published table \"pipe\"; did you mean pipes? (`headwater list published` shows all)"
    );
    assert!(error("published:pipes/fc7").contains("did you mean fc6?"), "{}", error("published:pipes/fc7"));
    assert!(error("published:ipc/x").contains("it has fedora20"), "{}", error("published:ipc/x"));
    assert!(error("published:").contains("headwater list published"));
    assert!(error("pipes/fc6").ends_with("did you mean published:pipes/fc6?"), "{}", error("pipes/fc6"));
}

#[test]
fn a_run_is_called_by_its_directory_or_its_own_file_name() {
    let (_, run) = load("published:sync").expect("the table exists").remove(0);
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let directory = scratch.path().join("tuesday");
    let store = store::Store::create(&directory).expect("the directory is writable");
    let document = store.publish(&run).expect("the directory is writable");
    fs::remove_file(directory.join(store::EVENTS)).expect("it is there");
    fs::copy(&document, scratch.path().join("baseline.json")).expect("the directory is writable");
    for (path, name) in [("tuesday", "tuesday"), ("tuesday/run.json", "tuesday"), ("baseline.json", "baseline")] {
        let path = scratch.path().join(path);
        let found = load(path.to_str().expect("a path of letters")).expect("it is a run");
        assert_eq!(found, vec![(name.to_owned(), run.clone())]);
    }
    let nothing = scratch.path().join("nothing");
    assert!(error(nothing.to_str().expect("a path of letters")).contains("nothing"));
}

/// Rows of a pattern or facility of today have its metrics, units, directions, version and ids.
#[test]
fn published_rows_of_todays_patterns_are_made_by_todays_rules() {
    let mut seen = Vec::new();
    for dataset in published::tables().iter().flat_map(|table| table.datasets()) {
        for row in dataset.run.results.iter().map(|result| &result.row) {
            let Some(today) = today(row) else { continue };
            assert_eq!(
                (row.definition_version, &row.metrics),
                (today.definition_version, &today.metrics),
                "{}",
                row.id
            );
            assert_eq!(row.id, today.id);
            seen.push(row.pattern.clone());
        }
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, ["acknowledged", "flood", "lmbench", "matrix", "perftest", "rtt", "stream", "sync"]);
}

/// The row that the plan would make of these parameters; `None` for what is not measured today.
fn today(row: &Row) -> Option<Row> {
    use headwater_gauge::plan::rows::{of_subject, of_transport, of_workers};
    if let Some(facility) = facilities::find(&row.pattern) {
        let subject = (facility.subjects)().into_iter().find(|subject| subject.name == row.subject);
        return match (subject, row.worker_kind, row.workers) {
            (Some(subject), Some(kind), Some(workers)) => {
                Some(of_workers(&subject, facility.info, workers, kind, row.placement))
            }
            (Some(subject), ..) => Some(of_subject(&subject, facility.info, row.placement)),
            (None, ..) => None,
        };
    }
    let pattern = patterns::find(&row.pattern)?.info;
    // Transports of the reports need not exist today; the id has the subject's name alone.
    let transport = headwater_gauge::transports::TABLE[0].info;
    let size = row.size_bytes.expect("a message has a size");
    let made = of_transport(transport, pattern, size, row.messages, row.placement);
    let id = made.id.replacen(transport.name, &row.subject, 1);
    // The options of a report's program stand where a variant's name does.
    let id = row.variant.iter().fold(id, |id, options| format!("{id}/{options}"));
    let definition_version = transport_definition(pattern.definition_version, &row.subject);
    Some(Row { id, definition_version, ..made })
}

#[test]
fn one_processor_is_one_placement() {
    for (name, run) in load("published:udp").expect("the table exists") {
        let placement = if name.ends_with("/6") { Placement::Free } else { Placement::SameCpu };
        assert!(run.results.iter().all(|result| result.row.placement == placement), "{name}");
    }
}
