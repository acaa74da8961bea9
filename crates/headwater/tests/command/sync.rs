//! The facility `sync` with real workers, through a conductor as the command starts it.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use crate::conductor::{Conductor, assert_gone};

use headwater_gauge::facilities::sync::ENTRY;
use headwater_gauge::harness::conduct::{Job, Measured, Outcome};
use headwater_results::schema::{Placement, Row, Standing, WorkerKind};
use rustix::process::{Pid, Signal, kill_process};

const KINDS: [WorkerKind; 2] = [WorkerKind::Process, WorkerKind::Thread];

fn job(subject: &str, workers: u32, kind: WorkerKind) -> Job {
    let id = format!("{subject}/sync/{}x{workers}", kind.name());
    Job {
        row: Row {
            id: id.clone(),
            subject: subject.into(),
            pattern: "sync".into(),
            definition_version: 1,
            standing: Standing::Candidate,
            placement: Placement::Free,
            size_bytes: None,
            messages: None,
            workers: Some(workers),
            worker_kind: Some(kind),
            policy: None,
            variant: None,
            metrics: Vec::new(),
        },
        time_s: 0.02,
        warm_up_s: 0.01,
        cpus: None,
        directory: std::env::temp_dir(),
        token: format!("test-{}-{}", std::process::id(), id.replace('/', "-")),
        repetitions: 1,
        command: None,
        patience_s: 20.0,
    }
}

/// Returns the result of a job; `None` if a sandbox permits no private IPC namespace, which one family needs.
fn measure(job: &Job) -> Option<Measured> {
    match Conductor::start(job).outcome() {
        Outcome::Measured(measured) => Some(*measured),
        Outcome::Unavailable { reason } => {
            assert!(job.row.subject.starts_with("sysv-semaphore"), "{}: {reason}", job.row.id);
            assert!(reason.contains("namespace") || reason.contains("semget"), "{}: {reason}", job.row.id);
            None
        }
        Outcome::Failed { reason } => panic!("{}: {reason}", job.row.id),
    }
}

fn system_v_semaphores() -> BTreeSet<String> {
    let text = fs::read_to_string("/proc/sysvipc/sem").unwrap_or_default();
    text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned)).collect()
}

/// Waits, because a test in another process may have one for a moment.
fn assert_no_more_system_v_semaphores_than(before: &BTreeSet<String>) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !system_v_semaphores().is_subset(before) {
        assert!(Instant::now() < deadline, "left behind: {:?}", system_v_semaphores().difference(before));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn assert_no_named_semaphore_of(job: &Job) {
    assert!(!fs::exists(format!("/dev/shm/sem.headwater-{}", job.token)).expect("a readable /dev/shm"));
}

#[test]
fn every_primitive_excludes_workers_and_leaves_nothing_behind() {
    let before = system_v_semaphores();
    for subject in (ENTRY.subjects)() {
        for kind in KINDS {
            let job = job(subject.name, 3, kind);
            let Some(measured) = measure(&job) else { continue };
            let total = &measured.series["total"];
            assert!(!total.is_empty() && total.iter().all(|&us| us > 0.0), "{}: {total:?}", job.row.id);
            let counter = |name: &str| measured.counters[name];
            assert_eq!(measured.batch_operations as f64, 3.0 * counter("additions_each"), "{}", job.row.id);
            assert_eq!(counter("operations"), measured.batch_operations as f64 * total.len() as f64);
            assert!(counter("workers_user_s") + counter("workers_system_s") > 0.0, "{}", job.row.id);
            assert_no_named_semaphore_of(&job);
        }
    }
    assert_no_more_system_v_semaphores_than(&before);
}

/// Returns a job that runs until it is killed.
fn endless_job(subject: &str, workers: u32, kind: WorkerKind) -> Job {
    Job { time_s: 3600.0, warm_up_s: 3600.0, ..job(subject, workers, kind) }
}

/// Returns the CPUs that a thread of a process may use, in the kernel's format; `None` if the thread has ended.
fn allowed_cpus(process: Pid, thread: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{}/task/{thread}/status", process.as_raw_nonzero())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(line.trim().to_owned())
}

#[test]
fn workers_alternate_between_the_two_cpus() {
    let cpus = headwater_os::cpu::allowed().expect("this process runs somewhere");
    let pair = (cpus[0], cpus[cpus.len() - 1]);
    let expected: BTreeSet<String> = [pair.0.to_string(), pair.1.to_string()].into();
    for (kind, processes) in [(WorkerKind::Process, 3), (WorkerKind::Thread, 1)] {
        let conductor = Conductor::start(&Job { cpus: Some(pair), ..endless_job("none", 3, kind) });
        let workers = conductor.workers(processes);
        // The threads of a round start and end, and a worker takes a moment to bind itself.
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let seen: Vec<String> = workers.iter().flat_map(|&worker| cpus_of_workers(worker, kind)).collect();
            if seen.len() == 3 && seen.iter().cloned().collect::<BTreeSet<_>>() == expected {
                break;
            }
            assert!(Instant::now() < deadline, "{kind:?} on {seen:?} instead of {expected:?}");
        }
    }
}

/// Returns the CPUs that the workers in a process may use. A worker is the only thread of its process, or one of those
/// beside the first.
fn cpus_of_workers(process: Pid, kind: WorkerKind) -> Vec<String> {
    let first = process.as_raw_nonzero().to_string();
    match kind {
        WorkerKind::Process => allowed_cpus(process, &first).into_iter().collect(),
        WorkerKind::Thread => fs::read_dir(format!("/proc/{first}/task"))
            .expect("it runs")
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|thread| *thread != first)
            .filter_map(|thread| allowed_cpus(process, &thread))
            .collect(),
    }
}

#[test]
fn a_killed_worker_ends_the_launch_with_an_error() {
    for (kind, processes) in [(WorkerKind::Process, 3), (WorkerKind::Thread, 1)] {
        let conductor = Conductor::start(&endless_job("mutex", 3, kind));
        let workers = conductor.workers(processes);
        std::thread::sleep(Duration::from_millis(50));
        let started = Instant::now();
        kill_process(workers[0], Signal::KILL).expect("it runs");
        let outcome = conductor.outcome();
        assert!(matches!(&outcome, Outcome::Failed { reason } if reason.contains("worker died")), "{outcome:?}");
        assert!(started.elapsed() < Duration::from_secs(10), "it took {:?}", started.elapsed());
        assert_gone(&workers);
    }
}

#[test]
fn a_stopped_worker_is_killed() {
    let mut job = endless_job("memory-semaphore", 2, WorkerKind::Process);
    job.patience_s = 1.0;
    let conductor = Conductor::start(&job);
    let workers = conductor.workers(2);
    kill_process(workers[1], Signal::STOP).expect("it runs");
    let outcome = conductor.outcome();
    assert!(matches!(&outcome, Outcome::Failed { reason } if reason.contains("stuck")), "{outcome:?}");
    assert_gone(&workers);
}

#[test]
fn a_killed_conductor_leaves_nothing_behind() {
    let before = system_v_semaphores();
    for subject in ["named-semaphore", "sysv-semaphore"] {
        let job = endless_job(subject, 2, WorkerKind::Process);
        if measure(&self::job(subject, 1, WorkerKind::Process)).is_none() {
            continue;
        }
        let conductor = Conductor::start(&job);
        let workers = conductor.workers(2);
        drop(conductor);
        assert_gone(&workers);
        assert_no_named_semaphore_of(&job);
    }
    assert_no_more_system_v_semaphores_than(&before);
}
