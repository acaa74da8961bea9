//! Runs a launch of an operation: a process for the operation, a check, then calibration, warm-up and batches as for
//! messages.

use std::io;

use headwater_os::clock::now_ns;
use headwater_os_tools::heap;
use headwater_results::estimate::median;

use super::{Figure, Operation, Run};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::link::WorkerSide;
use crate::harness::lmbench_rule::{self, LmbenchRule};
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::rounds::{Batches, Rounds};
use crate::harness::worker;
use crate::transports::Unavailable;

const ROLES: [Role; 1] = [Role::Worker];

/// Operations in the first round of calibration. One, because some operations take milliseconds.
const FIRST: u64 = 1;

/// The part of an operation's definition that the conductor needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition {
    figure: Figure,
    quantity: f64,
    timed_share: f64,
    /// Whether the sample of a batch is what is left after a subtraction.
    is_difference: bool,
    lmbench_rule: LmbenchRule,
}

impl Definition {
    /// Returns the definition of operation `O` in a job.
    pub(super) fn of<O: Operation>(job: &Job) -> Definition {
        const { assert!(O::SUBTRACTED.is_none() || O::FIGURE.is_time(), "only times are subtracted") };
        Definition {
            figure: O::FIGURE,
            quantity: O::quantity(job),
            timed_share: O::TIMED_SHARE,
            is_difference: O::SUBTRACTED.is_some(),
            lmbench_rule: O::LMBENCH_RULE,
        }
    }
}

/// The process of an operation: [`run_process`] of it.
pub(super) type RunProcess = fn(&Job, WorkerSide) -> io::Result<()>;

/// Prepares an operation in a process of its own and drops it.
///
/// # Errors
/// [`Unavailable`] if it cannot be prepared here. Other failures appear in the launch.
pub(super) fn probe(run_process: RunProcess, job: &Job) -> Result<(), Unavailable> {
    let nothing = Round::default();
    match team(run_process, job).and_then(|mut team| team.round(&nothing).map(|_| team)).and_then(Team::finish) {
        Err(LaunchError::Unavailable(reason)) => Err(Unavailable(reason)),
        Ok(()) | Err(LaunchError::Failed(_)) => Ok(()),
    }
}

/// Runs a launch of an operation.
///
/// # Errors
/// As [`Team::round`], with the operation's own message.
pub(super) fn conduct(definition: &Definition, run_process: RunProcess, job: &Job) -> Result<Measured, LaunchError> {
    let mut team = team(run_process, job)?;
    let share = definition.timed_share;
    let timed = Job { time_s: job.time_s * share, warm_up_s: job.warm_up_s * share, ..job.clone() };
    let mut rounds = Rounds::new(&mut team, &timed, &ROLES, Role::Worker);
    rounds.run(1, 1, |round| round.full_check = true)?;
    let batches = rounds.batches(FIRST)?;
    team.finish()?;
    Ok(measured(definition, &batches, job))
}

/// Forks the process of the operation. The conductor has little memory then: the cost of a fork depends on the pages of
/// the parent.
fn team(run_process: RunProcess, job: &Job) -> Result<Team, LaunchError> {
    let cpu = job.cpus.map(|(first, _)| first);
    let link = worker::fork(Role::Worker, cpu, &mut |side| run_process(job, side))?;
    Ok(Team::new(vec![link], job))
}

/// Prepares operation `O` and runs its rounds.
///
/// # Errors
/// As [`worker::serve`].
pub(super) fn run_process<O: Operation>(job: &Job, side: WorkerSide) -> io::Result<()> {
    heap::trim();
    match O::prepare(job) {
        Ok(mut operation) => worker::serve(side, &mut |round| serve(&mut operation, round)),
        Err(Unavailable(reason)) => worker::refuse(side, &reason),
    }
}

/// Runs one round. The stamps come from a clock that runs only while the operation runs: they contain neither what is
/// subtracted nor the untimed work.
pub(super) fn serve<O: Operation>(operation: &mut O, round: &Round) -> io::Result<Report> {
    let start_ns = now_ns();
    let mut report = Report { start_ns, end_ns: start_ns, ..Report::default() };
    if round.full_check {
        operation.check()?;
        return Ok(report);
    }
    report.stamps_ns.reserve_exact(round.batches as usize);
    report.subtracted_ns.reserve_exact(if O::SUBTRACTED.is_some() { round.batches as usize } else { 0 });
    for _ in 0..round.batches {
        report.end_ns += timed_ns(operation, round.batch, O::run)?;
        report.stamps_ns.push(report.end_ns);
        if let Some(subtracted) = O::SUBTRACTED {
            report.subtracted_ns.push(timed_ns(operation, round.batch, subtracted)?);
        }
    }
    Ok(report)
}

/// Returns how long the operations take, in ns, without the calls of [`Operation::tidy`] between them.
fn timed_ns<O: Operation>(operation: &mut O, operations: u64, run: Run<O>) -> io::Result<u64> {
    let (mut left, mut total_ns) = (operations, 0);
    while left > 0 {
        let piece = left.min(O::PIECE_MAX);
        operation.tidy(piece)?;
        let start_ns = now_ns();
        run(operation, piece)?;
        total_ns += now_ns() - start_ns;
        left -= piece;
    }
    Ok(total_ns)
}

/// Returns the samples, the figure by LMbench's rule, the two parts of a difference, and the cost.
pub(super) fn measured(definition: &Definition, batches: &Batches, job: &Job) -> Measured {
    let &Definition { figure, quantity, is_difference, lmbench_rule: rule, .. } = definition;
    let own = figure.metrics()[0];
    let count = batches.operations as f64;
    let values = |durations_ns: &[f64]| -> Vec<f64> {
        durations_ns.iter().map(|ns| figure.value(ns / count, quantity)).collect()
    };
    let old = |values: &[f64]| rule.of(values, own.better);
    let mut measured = batches.measured(&ROLES);
    let whole = values(&batches.durations_ns);
    let (series, value) = if is_difference {
        // The first batch is not a sample.
        let subtracted_ns: Vec<f64> = batches.reports[0].subtracted_ns.iter().skip(1).map(|&ns| ns as f64).collect();
        for (name, durations_ns) in [("whole_ns", &batches.durations_ns), ("subtracted_ns", &subtracted_ns)] {
            let each = median(durations_ns).map(|ns| ns / count / quantity);
            measured.counters.extend(each.map(|ns| (name.to_owned(), ns)));
        }
        let part = values(&subtracted_ns);
        let value = old(&whole).zip(old(&part)).map(|(whole, part)| whole - part);
        (whole.iter().zip(&part).map(|(whole, part)| whole - part).collect(), value)
    } else {
        let value = old(&whole);
        (whole, value)
    };
    measured.series.insert(own.name.to_owned(), series);
    lmbench_rule::add_value(&mut measured, &job.row, value);
    if figure.is_time() {
        measured.batch_operations = (count * quantity).round() as u64;
        measured.counters.entry("operations".to_owned()).and_modify(|operations| *operations *= quantity);
    }
    measured
}
