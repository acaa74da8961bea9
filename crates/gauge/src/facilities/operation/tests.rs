//! Tests of the arithmetic of a launch and of the loop around an operation. Tests with processes are in
//! `crates/headwater/tests/command/operations.rs`.

use headwater_results::schema::Placement;

use super::conduct::{Definition, measured, serve};
use super::*;
use crate::facilities::{TABLE, lmbench};
use crate::harness::lmbench_rule;
use crate::harness::protocol::{Report, Round};
use crate::harness::rounds::Batches;
use crate::plan::rows::of_subject;

/// Test operation of two hops, with an empty subtracted part. It records its calls.
#[derive(Default)]
struct Noted(Vec<(&'static str, u64)>);

impl Operation for Noted {
    const ROWS: &'static [(&'static str, &'static str)] = &[("noted", "")];
    const FIGURE: Figure = Figure::Microseconds;
    const SUBTRACTED: Option<Run<Self>> = Some(|noted, operations| {
        noted.0.push(("subtracted", operations));
        Ok(())
    });
    const PIECE_MAX: u64 = 4;

    fn quantity(_job: &Job) -> f64 {
        2.0
    }

    fn prepare(_job: &Job) -> Result<Noted, Unavailable> {
        Ok(Noted::default())
    }

    fn check(&mut self) -> io::Result<()> {
        self.0.push(("check", 0));
        Ok(())
    }

    fn tidy(&mut self, operations: u64) -> io::Result<()> {
        self.0.push(("tidy", operations));
        Ok(())
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        self.0.push(("run", operations));
        Ok(())
    }
}

/// Test operation that moves 1000 bytes.
struct Moved;

impl Operation for Moved {
    const ROWS: &'static [(&'static str, &'static str)] = &[("moved", "")];
    const FIGURE: Figure = Figure::Bandwidth;
    const LMBENCH_RULE: LmbenchRule = LmbenchRule::Best;

    fn quantity(_job: &Job) -> f64 {
        1000.0
    }

    fn prepare(_job: &Job) -> Result<Moved, Unavailable> {
        Ok(Moved)
    }

    fn check(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn run(&mut self, _operations: u64) -> io::Result<()> {
        Ok(())
    }
}

fn measured_of<O: Operation>(batches: &Batches) -> Measured {
    let job = job::<O>();
    measured(&Definition::of::<O>(&job), batches, &job)
}

fn job<O: Operation>() -> Job {
    let (name, summary) = O::ROWS[0];
    let subject = Subject { name, summary, standing: O::STANDING, metrics: O::FIGURE.metrics() };
    let row = lmbench_rule::with_value(of_subject(&subject, lmbench::ENTRY.info, Placement::Free));
    serde_json::from_value(serde_json::json!({
        "row": row, "time_s": 0.0, "warm_up_s": 0.0, "directory": "/", "token": "", "repetitions": 1, "patience_s": 1.0,
    }))
    .expect("a job")
}

fn batches(durations_ns: &[f64], subtracted_ns: &[u64]) -> Batches {
    let report = Report { subtracted_ns: subtracted_ns.to_vec(), ..Report::default() };
    let (durations_ns, reports) = (durations_ns.to_vec(), vec![report]);
    Batches { operations: 10, durations_ns, warm_up_s: 0.0, steady: true, reports }
}

#[test]
fn the_difference_is_taken_per_batch_and_both_parts_are_kept() {
    // Ten operations of two hops each. The first subtracted duration belongs to the batch that is not a sample.
    let measured = measured_of::<Noted>(&batches(&[80e3, 60e3, 100e3], &[999_000, 20_000, 40_000, 20_000]));
    assert_eq!(measured.series["elapsed"], [3.0, 1.0, 4.0]);
    assert_eq!(measured.series[lmbench_rule::NAME], [3.0], "median of 4, 3, 5 less median of 1, 2, 1");
    assert_eq!((measured.counters["whole_ns"], measured.counters["subtracted_ns"]), (4e3, 1e3));
    assert_eq!(measured.batch_operations, 20);
    assert_eq!(measured.counters["operations"], 80.0, "four batches, with the one that is not a sample");
}

#[test]
fn a_bandwidth_counts_bytes_and_its_lmbench_value_is_the_best() {
    let measured = measured_of::<Moved>(&batches(&[1e4, 2e4, 5e3], &[]));
    assert_eq!(measured.series["bandwidth"], [1000.0, 500.0, 2000.0]);
    assert_eq!(measured.series[lmbench_rule::NAME], [2000.0]);
    assert_eq!(measured.batch_operations, 10);
    assert!(!measured.counters.contains_key("whole_ns"));
}

#[test]
fn batches_of_both_parts_alternate_in_pieces_with_tidying_before_each() {
    let mut noted = Noted::default();
    let report = serve(&mut noted, &Round { batch: 6, batches: 2, ..Round::default() }).expect("it does nothing");
    let of = |what| [("tidy", 4), (what, 4), ("tidy", 2), (what, 2)];
    assert_eq!(noted.0, [of("run"), of("subtracted"), of("run"), of("subtracted")].concat());
    assert_eq!((report.stamps_ns.len(), report.subtracted_ns.len()), (2, 2));
    assert_eq!(report.end_ns, report.stamps_ns[1]);
}

#[test]
fn a_full_check_checks_and_times_nothing() {
    let mut noted = Noted::default();
    let round = Round { batch: 1, batches: 1, full_check: true, ..Round::default() };
    let report = serve(&mut noted, &round).expect("it does nothing");
    assert_eq!(noted.0, [("check", 0)]);
    assert!(report.stamps_ns.is_empty());
}

#[test]
fn rows_have_one_operation_each_and_those_of_the_kernel_are_in_ns() {
    for facility in TABLE {
        let mut names: Vec<&str> = (facility.subjects)().iter().map(|subject| subject.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{}", facility.info.name);
    }
    let kernel = crate::facilities::find("kernel").expect("in the table");
    assert!((kernel.subjects)().iter().all(|subject| subject.metrics[0].unit == "ns"));
}

#[test]
fn a_row_has_the_version_of_its_own_definition() {
    let rows: Vec<(&str, u32)> = (lmbench::ENTRY.subjects)()
        .iter()
        .map(|subject| {
            let row = of_subject(subject, lmbench::ENTRY.info, Placement::Free);
            (subject.name, row.definition_version)
        })
        .collect();
    let (switches, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(name, _)| name.starts_with("ctxsw-"));
    assert!(switches.len() == 42 && switches.iter().all(|(_, version)| *version == 3));
    let revised = |wanted: u32| {
        let mut names: Vec<&str> =
            others.iter().filter(|(_, version)| *version == wanted).map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.join(" ")
    };
    let second = "main-memory-random memory-read mmap-latency null-call null-io open-close page-fault \
                  partial-mmap-read partial-mmap-read-write partial-mmap-write signal-handle signal-install tcp-bandwidth tcp-connect";
    let third = "aligned-bcopy-libc bcopy-hand bcopy-libc bzero-copy create-0k create-10k create-1k create-4k delete-0k \
                 delete-10k delete-1k delete-4k file-open-close file-reread fstat l1-cache l2-cache main-memory memory-write mmap-open-close \
                 mmap-reread partial-bcopy-hand prot-fault stat";
    assert_eq!((revised(2).as_str(), revised(3).as_str()), (second, third));
    assert!(others.iter().all(|(_, version)| [1, 2, 3].contains(version)));
}
