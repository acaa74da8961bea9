//! Tests of the table and of the arithmetic. Tests with workers are in `crates/headwater/tests/command/sync.rs`.

use headwater_results::schema::{Placement, Standing, WorkerKind};

use super::conduct::{Plan, measured};
use super::worker_group::{RoundTimes, SharedState, add_in_threads};
use super::*;
use crate::harness::protocol::{Cost, Round};

fn row(workers: Option<u32>, worker_kind: Option<WorkerKind>) -> Row {
    Row {
        id: "mutex/sync".into(),
        subject: "mutex".into(),
        pattern: "sync".into(),
        definition_version: 1,
        standing: Standing::Candidate,
        placement: Placement::Free,
        size_bytes: None,
        messages: None,
        workers,
        worker_kind,
        policy: None,
        variant: None,
        metrics: vec![TOTAL.metric()],
    }
}

#[test]
fn rows_need_workers_within_the_limit_and_their_kind() {
    for workers in [1, 5, WORKERS_MAX] {
        assert_eq!(accepts(&row(Some(workers), Some(WorkerKind::Process))), Ok(()));
    }
    for (workers, kind) in
        [(Some(0), Some(WorkerKind::Thread)), (Some(WORKERS_MAX + 1), Some(WorkerKind::Thread)), (Some(2), None)]
    {
        assert!(accepts(&row(workers, kind)).is_err(), "{workers:?} {kind:?}");
    }
    assert!(accepts(&row(None, Some(WorkerKind::Thread))).unwrap_err().contains("number of workers"));
}

#[test]
fn names_are_unique_and_one_is_null() {
    let mut names: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SUBJECTS.len());
    let nulls: Vec<&str> = SUBJECTS.iter().filter(|s| s.standing == Standing::Null).map(|s| s.name).collect();
    assert_eq!(nulls, ["none"]);
}

#[test]
fn full_rounds_are_preferred_to_more_rounds() {
    // 10 ns per addition: a full round takes 10 ms.
    assert_eq!(Plan::new(10.0, 0.035, 1000), Plan { additions: 1_000_000, rounds: 3 });
    assert_eq!(Plan::new(10.0, 0.010, 1000), Plan { additions: 1_000_000, rounds: 1 });
    assert_eq!(Plan::new(10.0, 100.0, 1000), Plan { additions: 1_000_000, rounds: 20 });
}

#[test]
fn if_no_full_round_fits_a_few_short_ones_run() {
    assert_eq!(Plan::new(10.0, 0.009, 1000), Plan { additions: 180_000, rounds: 5 });
    assert_eq!(Plan::new(1e6, 0.009, 1000), Plan { additions: 1000, rounds: 5 });
    assert_eq!(Plan::new(1e6, 0.009, 100), Plan { additions: 100, rounds: 5 });
}

#[test]
fn samples_are_scaled_to_a_million_additions_and_costs_summed() {
    let cost = Cost { user_s: 0.5, system_s: 0.25, voluntary_switches: 3, involuntary_switches: 4 };
    let laps = [RoundTimes { elapsed_ns: 2e6, cost }, RoundTimes { elapsed_ns: 3e6, cost }];
    let measured = measured(&Plan { additions: 1000, rounds: 2 }, &laps, 5);
    assert_eq!(measured.series["total"], [2e6, 3e6]);
    assert_eq!(measured.counters["operations"], 10_000.0);
    assert_eq!(measured.counters["additions_each"], 1000.0);
    assert_eq!(measured.counters["workers_user_s"], 1.0);
    assert_eq!(measured.counters["workers_voluntary_switches"], 6.0);
    assert_eq!(measured.counters["workers_involuntary_switches"], 8.0);
}

#[test]
fn counters_of_two_workers_share_no_pair_of_cache_lines() {
    let counters = Counters::new().expect("memory");
    let address = |worker| std::ptr::from_ref(counters.of(worker)).addr();
    assert!(address(1) - address(0) >= 128);
    add_unprotected(counters.of(0), || ());
    add_unprotected(counters.of(WORKERS_MAX as usize - 1), || ());
    assert_eq!(counters.sum(), 2);
}

/// A lock that does not exclude other workers.
struct Broken;

impl Primitive for Broken {
    const SUBJECT: Subject = Subject { name: "broken", summary: "", standing: Standing::Candidate, metrics: &[TOTAL] };

    fn create(_job: &Job) -> Result<Broken, Unavailable> {
        Ok(Broken)
    }

    fn add(&self, counter: &AtomicU64, _worker: usize, pause: impl FnOnce()) -> io::Result<()> {
        add_unprotected(counter, pause);
        Ok(())
    }
}

/// Runs a checking round of 4 threads and verifies the number of additions.
fn verified<P: Primitive>(primitive: &P, additions: u64) -> Result<(), LaunchError> {
    let row = row(Some(4), Some(WorkerKind::Thread));
    let job = serde_json::from_value(serde_json::json!({
        "row": row, "time_s": 0.0, "warm_up_s": 0.0, "directory": "/", "token": "", "repetitions": 1, "patience_s": 1.0,
    }))
    .expect("a job");
    let shared = SharedState::new(4)?;
    let round = Round { batch: additions, batches: 1, full_check: true, ..Round::default() };
    let report = add_in_threads(primitive, &shared, &job, &round).expect("the threads end well");
    assert!(report.end_ns > report.start_ns);
    shared.verify(P::SUBJECT.name, 4 * additions)
}

#[test]
fn a_lock_that_does_not_exclude_fails_the_launch() {
    let Err(LaunchError::Failed(reason)) = verified(&Broken, 50) else { panic!("lost additions went unseen") };
    assert!(reason.contains("broken did not keep 4 workers apart: after 200 additions"), "{reason}");
}

#[test]
fn the_null_primitive_loses_no_additions() {
    assert_eq!(verified(&none::Nothing, 50), Ok(()));
}
