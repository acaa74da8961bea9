//! Requests that cannot be met say why and what would help; those that can take the machine's noise into account.

use headwater_results::compare::MINIMUM_EFFECT;
use headwater_results::schema::{Event, LaunchRecord, RunStatus};
use headwater_results::summary::Fold;

use super::*;
use crate::noise::testing::record;
use crate::store;

fn request() -> Request {
    Request { by: None, baseline: None, filters: vec![], rules: Rules::default(), noise: Noise::OfTheMachine }
}

/// A run of the given rows of published form: `subject` under stream, on `host`.
fn run(host: &str, subjects: &[&str], launches: u32) -> Run {
    let (_, template) = crate::sources::load("published:pipes/fc6").expect("it is compiled in").remove(0);
    let row = |subject: &str| {
        let mut row = template.results[0].row.clone();
        row.id = format!("{subject}/stream/64/free");
        row.subject = subject.to_owned();
        row
    };
    let mut header = template.header.clone();
    header.rows = subjects.iter().map(|subject| row(subject)).collect();
    header.environment.host = host.to_owned();
    let mut events = vec![Event::RunStarted(Box::new(header.clone()))];
    for block in 0..launches {
        events.extend(header.rows.iter().map(|row| {
            // Every launch differs a little, differently in every row.
            let rate = 1e6 + f64::from(block % 3) * 1e3 + row.id.len() as f64;
            Event::LaunchFinished(Box::new(LaunchRecord {
                row: row.id.clone(),
                block,
                series: [(row.metrics[0].name.clone(), vec![rate; 5])].into(),
                ..LaunchRecord::default()
            }))
        }));
    }
    events.push(Event::RunFinished { status: RunStatus::Complete, environment: Box::new(header.environment) });
    Fold::run_of(events).expect("the events are in order")
}

fn named(runs: Vec<(&str, Run)>) -> Vec<(String, Run)> {
    let named = |(name, mut run): (&str, Run)| {
        run.header.run_id = name.to_owned();
        (name.to_owned(), run)
    };
    runs.into_iter().map(named).collect()
}

fn refused(runs: &[(String, Run)], request: &Request, expect: &[&str]) {
    let error = compare_runs(runs, request).expect_err("it cannot be compared").to_string();
    assert!(expect.iter().all(|part| error.contains(part)), "{error}");
    assert!(!error.contains('\n'), "{error}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_remedy() {
    let one = named(vec![("a", run("h", &["pipe", "fifo"], 6))]);
    refused(&one, &request(), &["one run", "--by"]);
    let two = named(vec![("a", run("h", &["pipe"], 6)), ("b", run("h", &["fifo"], 6))]);
    refused(&two, &request(), &["a and b", "no row", "same selection"]);
    let same = named(vec![("a", run("h", &["pipe"], 6)), ("b", run("h", &["pipe"], 6))]);
    refused(&same, &Request { baseline: Some("bb".to_owned()), ..request() }, &["bb", "did you mean", "a, b"]);
    refused(&same, &Request { filters: vec!["pope".to_owned()], ..request() }, &["pope", "no row"]);
    refused(&same, &Request { by: factor::find("host").cloned(), ..request() }, &["one host, h"]);
    refused(&same, &Request { by: factor::find("variant").cloned(), ..request() }, &["variant"]);
}

#[test]
fn a_run_compared_with_itself_is_said_to_be_the_same() {
    let mut runs = named(vec![("a", run("h", &["pipe"], 6)), ("b", run("h", &["pipe"], 6))]);
    runs.push(("copy".to_owned(), run("h", &["pipe"], 9)));
    runs[2].1.header.run_id = "a".to_owned();
    refused(&runs, &request(), &["a and copy are the same run", "headwater noise"]);
    // Within its rows too it would count each launch twice.
    refused(&runs, &Request { by: factor::find("placement").cloned(), ..request() }, &["a and copy are the same run"]);
}

#[test]
fn a_run_without_the_rows_of_the_others_is_not_overlooked() {
    let runs = named(vec![("a", run("h", &["pipe"], 6)), ("b", run("h", &["pipe"], 6)), ("c", run("h", &["fifo"], 6))]);
    let asked = Request { filters: vec!["pipe".to_owned()], ..request() };
    let compared = compare_runs(&runs, &asked).expect("a and b are comparable");
    let missing: Vec<_> =
        compared.iter().map(|one| (one.comparison.candidate.as_str(), one.comparison.left_out.len())).collect();
    assert_eq!(missing, [("b", 0), ("c", 1)]);
}

#[test]
fn the_baseline_can_be_chosen() {
    let runs = named(vec![("a", run("h", &["pipe"], 6)), ("b", run("h", &["pipe"], 6)), ("c", run("h", &["pipe"], 6))]);
    let names = |request: &Request| -> Vec<(String, String)> {
        let compared = compare_runs(&runs, request).expect("comparable");
        compared.into_iter().map(|one| (one.comparison.baseline, one.comparison.candidate)).collect()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(names(&request()), [pair("a", "b"), pair("a", "c")]);
    assert_eq!(names(&Request { baseline: Some("b".to_owned()), ..request() }), [pair("b", "a"), pair("b", "c")]);
}

#[test]
fn environments_of_two_runs_are_compared_and_of_one_are_not() {
    let runs = named(vec![("a", run("here", &["pipe"], 6)), ("b", run("there", &["pipe"], 6))]);
    let compared = compare_runs(&runs, &request()).expect("comparable");
    assert_eq!(compared[0].environment.iter().map(|one| one.what.as_str()).collect::<Vec<_>>(), ["host"]);
    let within = named(vec![("a", run("here", &["pipe", "fifo"], 6))]);
    let compared =
        compare_runs(&within, &Request { by: factor::find("transport").cloned(), ..request() }).expect("comparable");
    assert_eq!(compared[0].environment, []);
}

#[test]
fn a_noise_record_is_in_the_intervals_of_runs_apart() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let file = directory.path().join("noise.json");
    noise::write(&file, &record(1, 0.0, 0.1)).expect("room on the disk");
    let asked = Request { noise: Noise::File(file), ..request() };
    let runs = named(vec![("a", run("h", &["pipe", "fifo"], 12)), ("b", run("h", &["pipe", "fifo"], 12))]);
    let apart = &compare_runs(&runs, &asked).expect("comparable")[0];
    assert!((apart.comparison.rules.noise_floor() - 0.2165).abs() < 1e-3, "{:?}", apart.comparison.rules);
    assert_eq!(apart.comparison.rules.minimum_effect, MINIMUM_EFFECT, "it is the user's");
    assert!(apart.noise.contains("of h: measured 2026-01-01"), "{}", apart.noise);
    let within =
        &compare_runs(&runs, &Request { by: factor::find("transport").cloned(), ..asked }).expect("comparable")[0];
    assert_eq!(within.comparison.rules.drift, 0.0);
    assert_eq!(within.noise, "");
}

#[test]
fn runs_of_few_rows_on_an_unknown_machine_have_an_assumed_floor() {
    let few = named(vec![("a", run("h", &["pipe", "fifo"], 12)), ("b", run("h", &["pipe", "fifo"], 12))]);
    let compared = &compare_runs(&few, &request()).expect("comparable")[0];
    assert_eq!(compared.comparison.rules.drift, UNKNOWN);
    assert!(compared.noise.contains("headwater noise"), "{}", compared.noise);
    let names: Vec<String> = (0..ROWS_MIN).map(|at| format!("pipe{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let many = named(vec![("a", run("h", &names, 12)), ("b", run("h", &names, 12))]);
    let compared = &compare_runs(&many, &request()).expect("comparable")[0];
    assert!(compared.comparison.movement.is_some() && compared.comparison.rules.drift < UNKNOWN, "{compared:?}");
    let hosts = named(vec![("a", run("h", &names, 12)), ("b", run("other", &names, 12))]);
    let compared = &compare_runs(&hosts, &request()).expect("comparable")[0];
    assert_eq!(compared.comparison.movement, None, "between hosts it is a result");
}

#[test]
fn a_broken_noise_record_is_named() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let file = directory.path().join("noise.json");
    let runs = named(vec![("a", run("h", &["pipe"], 6)), ("b", run("h", &["pipe"], 6))]);
    let asked = Request { noise: Noise::File(file.clone()), ..request() };
    refused(&runs, &asked, &["noise.json"]);
    std::fs::write(&file, "{}").expect("room on the disk");
    let error = format!("{:#}", compare_runs(&runs, &asked).expect_err("it is no record"));
    assert!(error.contains("noise.json") && error.contains("headwater noise"), "{error}");
}

#[test]
fn a_host_names_a_file_and_nothing_else() {
    assert_eq!(noise::path(Path::new(store::RUNS), "a/../b c").to_string_lossy(), "headwater-runs/noise-a_.._b_c.json");
}
