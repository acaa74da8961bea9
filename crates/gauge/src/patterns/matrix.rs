//! `matrix`: a fixed number of messages, repeated: the experiment of the FIFO papers (size x count).
//!
//! Both processes meet at a barrier. The sender takes the time before its first send, the receiver after its last
//! receive, at the same size; the difference is the elapsed time of a repetition. The figure of a launch is the mean
//! over its repetitions, since the definition asks for the mean of 100 runs (launches x repetitions); the single
//! repetitions are in the histogram. The first repetition is not timed; in it, messages are checked in every byte.

use std::io;
use std::time::Instant;

use headwater_os::clock::now_ns;
use headwater_results::histogram::Histogram;
use headwater_results::schema::{Better, Standing};

use super::stream::PAIR;
use super::{Ends, Info, MetricInfo, Pattern, Topology, accepts_reliable, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::rounds::{FULL_CHECK_MESSAGES, Rounds};
use crate::harness::worker::WorkerContext;
use crate::transports::{self, Endpoint};

/// A fixed number of messages.
#[derive(Debug)]
pub struct Matrix;

const ELAPSED: MetricInfo = MetricInfo { name: "elapsed", unit: "us", better: Better::Lower };

/// The repetitions of a round last about so long, s.
const ROUND_S: f64 = 1.0;

/// Messages of the first repetition whose bytes are all checked; of the others the stamps are checked, as always.
const FULLY_CHECKED: u64 = FULL_CHECK_MESSAGES;

impl Pattern for Matrix {
    const INFO: Info = Info {
        name: "matrix",
        definition_version: 1,
        summary: "a fixed number of messages one-way, from before the first send to after the last receive; mean over \
                  the repetitions",
        metrics: &[ELAPSED],
        topology: Topology::TwoProcesses,
        duplex: false,
        nonblocking: false,
        external: false,
        counted: true,
    };

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        // The receiver of null may finish before its sender has begun.
        if transport.standing == Standing::Null {
            return Err(format!("no message of {} goes from one end to the other", transport.name));
        }
        accepts_reliable(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) => send_runs(end, round, context),
            Ends::Receiver(end) => receive_runs(end, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        let messages = job.row.messages.filter(|&messages| messages > 0);
        let messages = messages.ok_or_else(|| LaunchError::Failed("the row does not say how many messages".into()))?;
        let repetitions = u64::from(job.repetitions.max(1));
        let mut rounds = Rounds::new(team, job, &PAIR, Role::Receiver);
        let started = Instant::now();
        rounds.run(messages, 1, |round| round.full_check = true)?;
        let warm_up_s = started.elapsed().as_secs_f64();
        // The workers are silent while they do a round, so a round is about a second of repetitions.
        let at_once = ((ROUND_S / warm_up_s) as u64).clamp(1, repetitions);
        let (mut elapsed_ns, mut reports) = (Vec::new(), Vec::new());
        while (elapsed_ns.len() as u64) < repetitions {
            let count = at_once.min(repetitions - elapsed_ns.len() as u64);
            let round = rounds.run(messages, count, |_| ())?;
            let found = between(&round[1].stamps_ns, &round[0].stamps_ns);
            if found.len() as u64 != count {
                return Err(LaunchError::Failed("the workers did not time every repetition".into()));
            }
            elapsed_ns.extend(found);
            reports.extend(PAIR.into_iter().zip(round));
        }
        let mut histogram = Histogram::new();
        elapsed_ns.iter().for_each(|&ns| histogram.record_ns(ns));
        let mean_us = elapsed_ns.iter().sum::<u64>() as f64 / repetitions as f64 / 1e3;
        // No trend is checked: by definition the figure is the mean over all repetitions, and they are few.
        let mut measured = Measured { batch_operations: messages, warm_up_s, steady: true, ..Measured::default() };
        measured.series.insert(ELAPSED.name.into(), vec![mean_us]);
        measured.histograms.insert(ELAPSED.name.into(), histogram.to_pairs());
        measured.counters.insert("repetitions".into(), repetitions as f64);
        measured.counters.insert("operations".into(), (messages * repetitions) as f64);
        for (role, report) in &reports {
            measured.add_cost(*role, report);
        }
        Ok(measured)
    }
}

/// Returns the times from each of `starts_ns` to its counterpart in `ends_ns`. The clock is the same in both processes.
pub(super) fn between(starts_ns: &[u64], ends_ns: &[u64]) -> Vec<u64> {
    starts_ns.iter().zip(ends_ns).map(|(start_ns, end_ns)| end_ns.saturating_sub(*start_ns)).collect()
}

/// The sender's loop: a stamp before the first message of each repetition.
fn send_runs<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    let mut stamps_ns = Vec::with_capacity(round.batches as usize);
    let mut sequence = round.first;
    let start_ns = now_ns();
    for _ in 0..round.batches {
        context.shared.barrier.wait(2);
        stamps_ns.push(now_ns());
        for _ in 0..round.batch {
            end.send(context.payload.message(sequence))?;
            sequence += 1;
        }
    }
    Ok(Report { start_ns, end_ns: now_ns(), stamps_ns, ..Report::default() })
}

/// The receiver's loop: a stamp after the last message of each repetition.
fn receive_runs<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    let mut stamps_ns = Vec::with_capacity(round.batches as usize);
    let mut sequence = round.first;
    let fully_checked = if round.full_check { round.first + FULLY_CHECKED } else { round.first };
    let start_ns = now_ns();
    for _ in 0..round.batches {
        context.shared.barrier.wait(2);
        for _ in 0..round.batch {
            let check_all = sequence < fully_checked;
            if check_all {
                context.payload.poison();
            }
            end.receive(context.payload.space())?;
            context.payload.verify(sequence)?;
            if check_all {
                context.payload.verify_all(sequence)?;
            }
            sequence += 1;
        }
        stamps_ns.push(now_ns());
    }
    Ok(Report { start_ns, end_ns: now_ns(), stamps_ns, ..Report::default() })
}

#[cfg(test)]
mod tests;
