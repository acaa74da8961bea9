//! The workers of a launch: forked processes, or the threads of one forked process. They start together, add, and
//! report when they began and ended. After every round this file checks that no addition was lost.
//!
//! The conductor itself never has a second thread: a process that it forks later could inherit a locked lock.

use std::io;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use headwater_os::clock::{self, now_ns};
use headwater_os::cpu;
use headwater_os_tools::shared::{Barrier, Shared};
use headwater_results::schema::WorkerKind;

use super::{Counters, Primitive};
use crate::harness::conduct::{Job, LaunchError, Team};
use crate::harness::protocol::{Cost, Report, Role, Round};
use crate::harness::worker;

/// Additions by each worker in [`WorkerGroup::check`]. A sleep takes about 60 us, so that the check takes 3 ms per
/// worker: long enough for all workers to start before the first is done.
const CHECKED_ADDITIONS: u64 = 50;

/// The state that the workers share beside the primitive.
#[derive(Debug)]
pub struct SharedState {
    counters: Counters,
    /// The workers wait here before each round.
    barrier: Shared<Barrier>,
    workers: u32,
}

impl SharedState {
    /// Allocates the state. To be called before the fork.
    ///
    /// # Errors
    /// [`LaunchError::Failed`] if memory cannot be allocated.
    pub fn new(workers: u32) -> Result<SharedState, LaunchError> {
        let failed = |error| LaunchError::system("mmap", error);
        Ok(SharedState {
            counters: Counters::new().map_err(failed)?,
            barrier: Shared::new(Barrier::default()).map_err(failed)?,
            workers,
        })
    }

    /// Checks that the counters hold `expected` additions. Every worker must have reported that it is done: its report
    /// over the pipe is ordered after its additions.
    ///
    /// # Errors
    /// [`LaunchError::Failed`] if additions were lost: then `subject` does not exclude.
    pub(super) fn verify(&self, subject: &str, expected: u64) -> Result<(), LaunchError> {
        let counted = self.counters.sum();
        if counted == expected {
            return Ok(());
        }
        Err(LaunchError::Failed(format!(
            "{subject} did not keep {} workers apart: after {expected} additions the counter stands at {counted}",
            self.workers
        )))
    }
}

/// The workers, and the sum that their counters must have reached.
#[derive(Debug)]
pub struct WorkerGroup<'a> {
    team: Team,
    shared: &'a SharedState,
    subject: &'a str,
    /// Additions by all workers since the launch began.
    expected: u64,
}

/// One round of all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTimes {
    /// From the first start to the last end, in ns.
    pub elapsed_ns: f64,
    /// The resources that all workers used together.
    pub cost: Cost,
}

impl<'a> WorkerGroup<'a> {
    /// Forks the workers of the job.
    ///
    /// # Errors
    /// [`LaunchError::Failed`] if a pipe or a fork fails.
    pub fn fork<P: Primitive>(
        primitive: &P,
        shared: &'a SharedState,
        job: &'a Job,
    ) -> Result<WorkerGroup<'a>, LaunchError> {
        let links = match job.row.worker_kind {
            Some(WorkerKind::Thread) => vec![worker::fork(Role::Worker, None, &mut |side| {
                worker::serve(side, &mut |round| add_in_threads(primitive, shared, job, round))
            })?],
            _ => (0..shared.workers)
                .map(|number| {
                    worker::fork(Role::Worker, cpu_of(job, number), &mut |side| {
                        worker::serve(side, &mut |round| add_all(primitive, shared, number, round))
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        Ok(WorkerGroup { team: Team::new(links, job), shared, subject: &job.row.subject, expected: 0 })
    }

    /// Makes every worker add `additions` times.
    ///
    /// # Errors
    /// As [`Team::round`] and [`SharedState::verify`].
    pub fn round(&mut self, additions: u64) -> Result<RoundTimes, LaunchError> {
        self.run(&Round { batch: additions, batches: 1, ..Round::default() })
    }

    /// Makes every worker add a few times and sleep in the middle of each addition, so that a lock that does not
    /// exclude is detected with certainty.
    ///
    /// # Errors
    /// As [`WorkerGroup::round`].
    pub fn check(&mut self) -> Result<(), LaunchError> {
        self.run(&Round { batch: CHECKED_ADDITIONS, batches: 1, full_check: true, ..Round::default() }).map(drop)
    }

    fn run(&mut self, round: &Round) -> Result<RoundTimes, LaunchError> {
        let reports = self.team.round(round)?;
        self.expected += round.messages() * u64::from(self.shared.workers);
        self.shared.verify(self.subject, self.expected)?;
        Ok(round_times(&reports))
    }

    /// Tells every worker to end and waits for it.
    ///
    /// # Errors
    /// As [`Team::finish`].
    pub fn finish(self) -> Result<(), LaunchError> {
        self.team.finish()
    }
}

/// Workers alternate between the two CPUs of the job; on one CPU both are the same.
fn cpu_of(job: &Job, worker: u32) -> Option<u32> {
    job.cpus.map(|(first, second)| if worker.is_multiple_of(2) { first } else { second })
}

/// Runs one worker's part of a round.
fn add_all<P: Primitive>(primitive: &P, shared: &SharedState, worker: u32, round: &Round) -> io::Result<Report> {
    let worker = worker as usize;
    let counter = P::counter(&shared.counters, worker);
    shared.barrier.wait(shared.workers);
    let start_ns = now_ns();
    if round.full_check {
        // The sleep in the middle of an addition gives the others time to enter, if the primitive does not exclude
        // them.
        for _ in 0..round.messages() {
            primitive.add(counter, worker, || clock::sleep(Duration::from_micros(1)))?;
        }
    } else {
        for _ in 0..round.messages() {
            primitive.add(counter, worker, || ())?;
        }
    }
    Ok(Report { start_ns, end_ns: now_ns(), ..Report::default() })
}

/// Runs all workers' part of a round, each in a new thread. The threads are started before the round's time begins.
pub(super) fn add_in_threads<P: Primitive>(
    primitive: &P,
    shared: &SharedState,
    job: &Job,
    round: &Round,
) -> io::Result<Report> {
    let add_in_thread = |number| {
        cpu_of(job, number).map_or(Ok(()), cpu::bind)?;
        add_all(primitive, shared, number, round)
    };
    let reports = thread::scope(|scope| {
        let threads: Vec<_> = (0..shared.workers).map(|number| scope.spawn(move || add_in_thread(number))).collect();
        let join = |thread: ScopedJoinHandle<'_, io::Result<Report>>| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        };
        threads.into_iter().map(join).collect::<io::Result<Vec<Report>>>()
    })?;
    let (start_ns, end_ns) = span_ns(&reports);
    Ok(Report { start_ns, end_ns, ..Report::default() })
}

/// Returns the times of the first start and of the last end.
fn span_ns(reports: &[Report]) -> (u64, u64) {
    let start_ns = reports.iter().map(|report| report.start_ns).min().unwrap_or(0);
    let end_ns = reports.iter().map(|report| report.end_ns).max().unwrap_or(0);
    (start_ns, end_ns)
}

fn round_times(reports: &[Report]) -> RoundTimes {
    let (start_ns, end_ns) = span_ns(reports);
    let mut round = RoundTimes { elapsed_ns: end_ns.saturating_sub(start_ns).max(1) as f64, cost: Cost::default() };
    for report in reports {
        round.add_cost(&report.cost.unwrap_or_default());
    }
    round
}

impl RoundTimes {
    /// Adds the cost of another worker or round.
    pub fn add_cost(&mut self, cost: &Cost) {
        self.cost.user_s += cost.user_s;
        self.cost.system_s += cost.system_s;
        self.cost.voluntary_switches += cost.voluntary_switches;
        self.cost.involuntary_switches += cost.involuntary_switches;
    }
}
