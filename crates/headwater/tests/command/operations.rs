//! Every operation of the facilities `lmbench`, `kernel` and `trace` in a real launch, through a conductor as the
//! command starts it. Covers every operation of the tables.

use std::fs;
use std::path::Path;

use crate::conductor::{Conductor, assert_gone};
use headwater_gauge::facilities::{Entry, find};
use headwater_gauge::harness::conduct::{Job, Measured, Outcome};
use headwater_gauge::harness::lmbench_rule;
use headwater_gauge::plan::rows::of_subject;
use headwater_results::schema::{Placement, Standing};

const FACILITIES: [&str; 3] = ["lmbench", "kernel", "trace"];

fn facility(name: &str) -> &'static Entry {
    find(name).expect("a facility of the table")
}

/// Returns a very short launch of a row.
fn job(entry: &Entry, subject: &str, directory: &Path) -> Job {
    let subject = (entry.subjects)().into_iter().find(|known| known.name == subject).expect("a subject of the table");
    Job {
        row: lmbench_rule::with_value(of_subject(&subject, entry.info, Placement::Free)),
        time_s: 0.01,
        warm_up_s: 0.001,
        cpus: None,
        directory: directory.to_owned(),
        token: format!("test-{}-{}", std::process::id(), subject.name),
        repetitions: 1,
        command: None,
        patience_s: 20.0,
    }
}

fn measured(job: &Job) -> Measured {
    match Conductor::start(job).outcome() {
        Outcome::Measured(measured) => *measured,
        other => panic!("{}: {other:?}", job.row.id),
    }
}

/// A file that is written by calls as large as possible gets large pages. Then few touches fault, and the rows of
/// mapped files are refused. So our files must have small pages.
#[test]
fn mapped_files_have_small_pages_so_that_their_rows_are_measured() {
    for subject in ["mmap-latency", "page-fault"] {
        let scratch = tempfile::tempdir().expect("a directory for the test");
        match Conductor::start(&job(facility("lmbench"), subject, scratch.path())).outcome() {
            Outcome::Measured(_) => {}
            Outcome::Unavailable { reason } if reason.contains("of memory") => eprintln!("{subject}: {reason}"),
            other => panic!("{subject}: {other:?}"),
        }
    }
}

#[test]
fn every_operation_yields_its_figures_and_leaves_no_file_behind() {
    let subjects = FACILITIES
        .map(facility)
        .into_iter()
        .flat_map(|entry| (entry.subjects)().into_iter().map(move |subject| (entry, subject)));
    let next = std::sync::Mutex::new(subjects);
    let check_them = || {
        while let Some((entry, subject)) = { next.lock().expect("no check holds it").next() } {
            yields_its_figures(entry, subject.name);
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(check_them))));
}

fn yields_its_figures(entry: &Entry, subject: &str) {
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let job = job(entry, subject, scratch.path());
    let id = &job.row.id;
    let measured = match Conductor::start(&job).outcome() {
        Outcome::Measured(measured) => measured,
        Outcome::Unavailable { reason } => {
            assert!(!reason.trim().is_empty(), "{id}: skipped without a reason");
            eprintln!("{id}: skipped: {reason}");
            return;
        }
        Outcome::Failed { reason } => panic!("{id}: {reason}"),
    };
    for metric in &job.row.metrics {
        let values = measured.series.get(&metric.name).map_or(&[][..], Vec::as_slice);
        // The difference of two very short launches may be negative.
        let may_be_negative = measured.counters.contains_key("subtracted_ns");
        let is_sane = |value: &f64| value.is_finite() && (may_be_negative || *value > 0.0);
        assert!(!values.is_empty() && values.iter().all(is_sane), "{id}: {} is {values:?}", metric.name);
    }
    assert!(measured.counters["operations"] > 0.0 && measured.batch_operations > 0, "{id}");
    let left: Vec<_> = fs::read_dir(scratch.path()).expect("it is there").flatten().collect();
    assert!(left.is_empty(), "{id} left {left:?}");
}

#[test]
fn the_empty_loop_costs_less_than_the_null_call() {
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let figure = |entry: &Entry, subject: &str| {
        let measured = measured(&job(entry, subject, scratch.path()));
        let (_, samples) = measured.series.into_iter().find(|(name, _)| name != lmbench_rule::NAME).expect("a figure");
        // A disturbance only makes a batch longer.
        samples.into_iter().fold(f64::INFINITY, f64::min)
    };
    let (none_ns, call_us) = (figure(facility("kernel"), "none"), figure(facility("lmbench"), "null-call"));
    assert!(none_ns < call_us * 1e3, "{none_ns} ns against {call_us} us");
}

#[test]
fn the_figure_is_the_difference_of_its_parts() {
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let measured = measured(&job(facility("lmbench"), "signal-handle", scratch.path()));
    let (whole_ns, subtracted_ns) = (measured.counters["whole_ns"], measured.counters["subtracted_ns"]);
    assert!(whole_ns > subtracted_ns && subtracted_ns > 0.0, "{whole_ns} {subtracted_ns}");
    // Each sample is the difference within its batch, so that their median deviates a little from the difference of
    // medians.
    let value_us = measured.series[lmbench_rule::NAME][0];
    let parts_us = (whole_ns - subtracted_ns) / 1e3;
    assert!((value_us / parts_us - 1.0).abs() < 0.5, "{value_us} us against {parts_us} us");
}

#[test]
fn a_killed_conductor_ends_its_workers() {
    for entry in FACILITIES.map(facility) {
        // Two subjects suffice: the parent-death signal is the same for all.
        for subject in (entry.subjects)().into_iter().filter(|subject| subject.standing != Standing::Limit).take(2) {
            let scratch = tempfile::tempdir().expect("a directory for the test");
            let job = Job { time_s: 3600.0, warm_up_s: 3600.0, ..job(entry, subject.name, scratch.path()) };
            let conductor = Conductor::start(&job);
            let workers = conductor.workers(1);
            drop(conductor);
            assert_gone(&workers);
        }
    }
}
