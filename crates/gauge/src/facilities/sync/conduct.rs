//! Runs a launch: a check that the lock excludes, calibration from a few additions, warm-up, measured rounds.

use std::time::Instant;

use super::worker_group::{RoundTimes, SharedState, WorkerGroup};
use super::{Primitive, TOTAL};
use crate::harness::conduct::{Job, LaunchError, Measured};

/// Additions by each worker in the definition. Every figure is scaled to it.
const ADDITIONS: u64 = 1_000_000;

/// Additions in the first round of calibration: at most a few milliseconds, even for a slow primitive.
const ADDITIONS_FIRST: u64 = 100;

/// Calibration ends with a round of this length, or of a tenth of the measured time if that is shorter. It covers
/// several of the scheduler's time slices, so that it includes contention.
const CALIBRATION_NS: f64 = 20e6;

/// The most measured rounds.
const ROUNDS_MAX: u64 = 20;

/// Measured rounds if the additions of the definition do not fit the time: several short rounds show more than one long
/// one.
const ROUNDS_SHORT: u64 = 5;

/// Rounds of warm-up whose halves are compared.
const WARM_UP_ROUNDS: usize = 6;

/// A difference of the two halves above this share counts as a slope, as in the rounds of messages.
const SLOPE_MAX: f64 = 0.15;

/// Warm-up ends after this multiple of its minimum duration even if there is still a slope.
const WARM_UP_STRETCH_MAX: f64 = 4.0;

/// Runs a launch of primitive `P`.
///
/// # Errors
/// [`LaunchError::Unavailable`] if the primitive cannot be created here, else as [`WorkerGroup::round`].
pub fn conduct<P: Primitive>(job: &Job) -> Result<Measured, LaunchError> {
    let workers = job.row.workers.unwrap_or(1);
    let primitive = P::create(job)?;
    let floor = SharedState::new(workers)?;
    let mut group = WorkerGroup::fork(&primitive, &floor, job)?;

    group.check()?;
    let addition_ns = calibrate(&mut group, job)?;
    let warm_up = warm_up(&mut group, job, addition_ns, P::ADDITIONS_MIN)?;
    let plan = Plan::new(warm_up.addition_ns, job.time_s, P::ADDITIONS_MIN);
    let rounds = (0..plan.rounds).map(|_| group.round(plan.additions)).collect::<Result<Vec<RoundTimes>, _>>()?;
    group.finish()?;

    let mut measured = measured(&plan, &rounds, workers);
    measured.warm_up_s = warm_up.elapsed_s;
    measured.steady = warm_up.steady;
    Ok(measured)
}

/// Additions by each worker in a measured round, and the number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) additions: u64,
    pub(super) rounds: u64,
}

impl Plan {
    /// As many full rounds as fit into `time_s`. If none fits, a few short ones of at least `additions_min`.
    /// `addition_ns` is the duration of a round divided by the additions of each worker.
    pub(super) fn new(addition_ns: f64, time_s: f64, additions_min: u64) -> Plan {
        let time_ns = time_s * 1e9;
        let full_ns = addition_ns * ADDITIONS as f64;
        if full_ns <= time_ns {
            return Plan { additions: ADDITIONS, rounds: ((time_ns / full_ns) as u64).clamp(1, ROUNDS_MAX) };
        }
        let additions = (time_ns / ROUNDS_SHORT as f64 / addition_ns) as u64;
        Plan { additions: additions.clamp(additions_min, ADDITIONS), rounds: ROUNDS_SHORT }
    }
}

/// Raises the additions until a round is long enough. Returns the duration of a round per addition of each worker, in
/// ns.
fn calibrate(group: &mut WorkerGroup<'_>, job: &Job) -> Result<f64, LaunchError> {
    let enough_ns = CALIBRATION_NS.min(job.time_s * 1e8);
    let mut additions = ADDITIONS_FIRST;
    loop {
        let elapsed_ns = group.round(additions)?.elapsed_ns;
        if elapsed_ns >= enough_ns || additions >= ADDITIONS {
            return Ok(elapsed_ns / additions as f64);
        }
        // A short round is mostly start-up and has little contention, so it raises the additions by at most this
        // factor.
        let factor = (enough_ns / elapsed_ns).clamp(2.0, 16.0);
        additions = ((additions as f64 * factor) as u64).min(ADDITIONS);
    }
}

/// The result of the warm-up.
#[derive(Clone, Copy, Debug)]
struct WarmUp {
    /// Duration of the last rounds per addition of each worker, in ns.
    addition_ns: f64,
    elapsed_s: f64,
    steady: bool,
}

/// Runs rounds until the minimum time is over and there is no slope.
fn warm_up(
    group: &mut WorkerGroup<'_>,
    job: &Job,
    mut addition_ns: f64,
    additions_min: u64,
) -> Result<WarmUp, LaunchError> {
    let started = Instant::now();
    loop {
        let wanted = job.warm_up_s * 1e9 / WARM_UP_ROUNDS as f64 / addition_ns;
        let additions = (wanted as u64).clamp(additions_min, ADDITIONS);
        let mut rounds_ns = [0.0; WARM_UP_ROUNDS];
        for round_ns in &mut rounds_ns {
            *round_ns = group.round(additions)?.elapsed_ns;
        }
        let (early, late) = rounds_ns.split_at(WARM_UP_ROUNDS / 2);
        let steady = (least(late) / least(early) - 1.0).abs() <= SLOPE_MAX;
        addition_ns = rounds_ns.iter().sum::<f64>() / (WARM_UP_ROUNDS as u64 * additions) as f64;
        let elapsed_s = started.elapsed().as_secs_f64();
        if elapsed_s >= job.warm_up_s && (steady || elapsed_s >= job.warm_up_s * WARM_UP_STRETCH_MAX) {
            return Ok(WarmUp { addition_ns, elapsed_s, steady });
        }
    }
}

/// Returns the shortest of a few durations: a disturbance only ever makes a round longer.
fn least(durations_ns: &[f64]) -> f64 {
    durations_ns.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Returns the samples, scaled to the additions of the definition, and the cost of all measured rounds.
pub(super) fn measured(plan: &Plan, rounds: &[RoundTimes], workers: u32) -> Measured {
    let scale = ADDITIONS as f64 / plan.additions as f64;
    let total_us = rounds.iter().map(|round| round.elapsed_ns / 1e3 * scale).collect();
    let mut all = RoundTimes::default();
    for round in rounds {
        all.add_cost(&round.cost);
    }
    let operations = plan.additions * u64::from(workers);
    let counters = [
        ("workers_user_s", all.cost.user_s),
        ("workers_system_s", all.cost.system_s),
        ("workers_voluntary_switches", all.cost.voluntary_switches as f64),
        ("workers_involuntary_switches", all.cost.involuntary_switches as f64),
        ("additions_each", plan.additions as f64),
        ("operations", (operations * rounds.len() as u64) as f64),
    ];
    Measured {
        series: [(TOTAL.name.to_owned(), total_us)].into(),
        counters: counters.map(|(name, value)| (name.to_owned(), value)).into(),
        batch_operations: operations,
        ..Measured::default()
    }
}
