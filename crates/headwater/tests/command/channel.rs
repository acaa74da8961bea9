//! The facilities of a channel's cost, in real launches through a conductor. They cover every transport and facility of
//! the table.

use std::fs;
use std::path::Path;

use crate::conductor::{Conductor, assert_gone};
use headwater_gauge::facilities::{Entry, find};
use headwater_gauge::harness::conduct::{Job, Measured, Outcome};
use headwater_gauge::plan::rows::of_subject;
use headwater_results::schema::Placement;

const FACILITIES: [&str; 7] =
    ["open-close", "open-byte-close", "fifo-open-close", "fork-100", "descriptors", "memory-idle", "killed-reader"];

fn job(entry: &Entry, subject: &str, directory: &Path) -> Job {
    let subject = (entry.subjects)().into_iter().find(|known| known.name == subject).expect("a subject of the table");
    Job {
        row: of_subject(&subject, entry.info, Placement::Free),
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

/// Returns the result of a launch; `None` if the machine does not have the transport.
fn measured(facility: &str, subject: &str) -> Option<Measured> {
    let scratch = tempfile::tempdir().expect("a directory for the test");
    let entry = find(facility).expect("a facility of the table");
    match Conductor::start(&job(entry, subject, scratch.path())).outcome() {
        Outcome::Measured(measured) => {
            let left: Vec<_> = fs::read_dir(scratch.path()).expect("it is there").flatten().collect();
            assert!(left.is_empty(), "{subject}/{facility} left {left:?}");
            Some(*measured)
        }
        Outcome::Unavailable { reason } => {
            assert!(!reason.trim().is_empty(), "{subject}/{facility}: skipped without a reason");
            eprintln!("{subject}/{facility}: skipped: {reason}");
            None
        }
        Outcome::Failed { reason } => panic!("{subject}/{facility}: {reason}"),
    }
}

#[test]
fn every_facility_measures_every_subject_and_leaves_no_file_behind() {
    for facility in FACILITIES {
        let entry = find(facility).expect("a facility of the table");
        for subject in (entry.subjects)() {
            let Some(measured) = measured(facility, subject.name) else { continue };
            for metric in subject.metrics {
                let values = measured.series.get(metric.name).map_or(&[][..], Vec::as_slice);
                // A count may be zero, a duration may not.
                let is_sane = |value: &f64| value.is_finite() && (*value > 0.0 || metric.unit != "us" && *value == 0.0);
                assert!(
                    !values.is_empty() && values.iter().all(is_sane),
                    "{}/{facility}: {} is {values:?}",
                    subject.name,
                    metric.name
                );
            }
            assert!(measured.counters["operations"] > 0.0 && measured.batch_operations > 0);
        }
    }
}

#[test]
fn a_kernel_pipe_has_a_descriptor_per_end_and_loses_no_write_to_a_killed_reader() {
    assert_eq!(measured("descriptors", "pipe").expect("a pipe").series["descriptors"], [1.0]);
    let lost = &measured("killed-reader", "pipe").expect("a pipe").series["lost_writes"];
    assert!(lost.iter().all(|&writes| writes == 0.0), "{lost:?}");
}

#[test]
fn a_byte_through_a_channel_costs_more_than_none() {
    let least = |facility: &str| {
        let measured = measured(facility, "pipe").expect("a pipe");
        measured.series["elapsed"].iter().copied().fold(f64::INFINITY, f64::min)
    };
    let (without_us, with_us) = (least("open-close"), least("open-byte-close"));
    assert!(without_us < with_us, "{without_us} us against {with_us} us");
}

#[test]
fn a_killed_conductor_ends_its_workers() {
    for facility in ["open-close", "fifo-open-close", "fork-100"] {
        let entry = find(facility).expect("a facility of the table");
        let subject = (entry.subjects)()[0];
        let scratch = tempfile::tempdir().expect("a directory for the test");
        let job = Job { time_s: 3600.0, warm_up_s: 3600.0, ..job(entry, subject.name, scratch.path()) };
        let conductor = Conductor::start(&job);
        let workers = conductor.workers(1);
        drop(conductor);
        assert_gone(&workers);
    }
}
