//! `paced-100`, `paced-1000`, `paced-10000`: messages at a fixed rate per second. Measures the delay of each message,
//! and the CPU time of both processes.
//!
//! The sender sleeps until a message is due (`clock_nanosleep(2)` with an absolute time), reads the clock and sends.
//! The receiver reads the clock when its receive call returns. The difference is the one-way delay. It begins at the
//! send and not when the message was due, because the lateness of the sender's timer (up to 50 us) is the same for
//! every transport. The counter `sender_late` is the number of messages that were sent more than a period late. The CPU
//! time is that of both processes, including the sender's timer and both clock reads: the row of `null` shows how much
//! that is.
//!
//! The samples of a launch are the medians of groups of delays; the single delays are in the histogram.

use std::io;
use std::time::Instant;

use headwater_os::clock::{now_ns, sleep_until};
use headwater_results::histogram::Histogram;
use headwater_results::schema::{Better, Standing};

use super::cpu::{self, CPU};
use super::matrix::between;
use super::stream::PAIR;
use super::{Ends, Info, MetricInfo, Pattern, Topology, accepts_reliable, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::rounds::Rounds;
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint};

/// `RATE` messages per second.
#[derive(Debug)]
pub struct Paced<const RATE: u64>;

const ONE_WAY: MetricInfo = MetricInfo { name: "one_way", unit: "ns", better: Better::Lower };

/// The maximum number of samples into which the delays of a launch are grouped.
const SAMPLES: usize = 20;

/// Messages of the first, fully checked round.
const CHECKED: u64 = 2;

impl<const RATE: u64> Paced<RATE> {
    const PERIOD_NS: u64 = 1_000_000_000 / RATE;

    /// Returns the number of messages that are due within `time_s`.
    fn messages(time_s: f64, least: u64) -> u64 {
        ((time_s * RATE as f64) as u64).max(least)
    }
}

impl<const RATE: u64> Pattern for Paced<RATE> {
    const INFO: Info = Info {
        name: match RATE {
            100 => "paced-100",
            1_000 => "paced-1000",
            10_000 => "paced-10000",
            _ => panic!("a rate needs a name"),
        },
        definition_version: 1,
        summary: match RATE {
            100 => "100 messages per second: one-way delay of each, and CPU time of both processes per message",
            1_000 => "1,000 messages per second: one-way delay of each, and CPU time of both processes per message",
            _ => "10,000 messages per second: one-way delay of each, and CPU time of both processes per message",
        },
        metrics: &[ONE_WAY, CPU],
        topology: Topology::TwoProcesses,
        duplex: false,
        nonblocking: false,
        external: false,
        counted: false,
    };
    /// The receiver's check and the calibration take a few messages, which are rare.
    const COST: LaunchCost = LaunchCost::fixed(if RATE < 1000 { 0.027 } else { 0.01 });

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        // The receiver of null does not wait for its sender: its delays mean nothing, and its cost is that of the
        // pacing. A receiver that did not run for many periods would lose messages of a transport that drops them.
        accepts_reliable(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) => send_paced(end, round, context, Self::PERIOD_NS),
            Ends::Receiver(end) => receive_each(end, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        let mut rounds = Rounds::new(team, job, &PAIR, Role::Receiver);
        rounds.run(CHECKED, 1, |round| round.full_check = true)?;
        let started = Instant::now();
        rounds.run(Self::messages(job.warm_up_s, 1), 1, |_| ())?;
        let warm_up_s = started.elapsed().as_secs_f64();
        let messages = Self::messages(job.time_s, 2);
        let reports = rounds.run(messages, 1, |_| ())?;

        let delays_ns: Vec<u64> =
            // A message of null is received before it is sent, and the clock may return the same time twice.
            between(&reports[1].stamps_ns, &reports[0].stamps_ns).iter().map(|&ns| ns.max(1)).collect();
        if delays_ns.len() as u64 != messages {
            return Err(LaunchError::Failed("the workers did not time every message".into()));
        }
        let mut histogram = Histogram::new();
        delays_ns.iter().for_each(|&ns| histogram.record_ns(ns));
        let group = delays_ns.len().div_ceil(SAMPLES);
        // The rate is fixed, so no trend can occur.
        let mut measured = Measured { batch_operations: group as u64, warm_up_s, steady: true, ..Measured::default() };
        measured.series.insert(ONE_WAY.name.into(), medians(delays_ns, group));
        if job.row.standing != Standing::Null {
            measured.histograms.insert(ONE_WAY.name.into(), histogram.to_pairs());
        }
        measured.counters.insert("operations".into(), messages as f64);
        for (role, report) in PAIR.into_iter().zip(&reports) {
            measured.add_cost(role, report);
        }
        cpu::add(&mut measured);
        Ok(measured)
    }
}

/// Returns the median of each group of `group` delays, ns.
fn medians(mut delays_ns: Vec<u64>, group: usize) -> Vec<f64> {
    let median = |group: &mut [u64]| *group.select_nth_unstable(group.len() / 2).1 as f64;
    delays_ns.chunks_mut(group.max(1)).map(median).collect()
}

/// The sender's loop: sends each message when it is due, with a stamp right before it.
fn send_paced<E: Endpoint>(
    end: &mut E,
    round: &Round,
    context: &mut WorkerContext<'_>,
    period_ns: u64,
) -> io::Result<Report> {
    let mut stamps_ns = Vec::with_capacity(round.messages() as usize);
    let start_ns = now_ns();
    let mut due_ns = start_ns;
    let mut late = 0_u32;
    for sequence in round.first..round.first + round.messages() {
        due_ns += period_ns;
        let message = context.payload.message(sequence);
        sleep_until(due_ns);
        let sent_ns = now_ns();
        end.send(message)?;
        stamps_ns.push(sent_ns);
        late += u32::from(sent_ns > due_ns + period_ns);
    }
    let counters = [("late".to_owned(), f64::from(late))].into();
    Ok(Report { start_ns, end_ns: now_ns(), stamps_ns, counters, ..Report::default() })
}

/// The receiver's loop: takes a stamp right after each message.
fn receive_each<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    let mut stamps_ns = Vec::with_capacity(round.messages() as usize);
    let start_ns = now_ns();
    for sequence in round.first..round.first + round.messages() {
        if round.full_check {
            context.payload.poison();
        }
        end.receive(context.payload.space())?;
        stamps_ns.push(now_ns());
        context.payload.verify(sequence)?;
        if round.full_check {
            context.payload.verify_all(sequence)?;
        }
    }
    Ok(Report { start_ns, end_ns: now_ns(), stamps_ns, ..Report::default() })
}

#[cfg(test)]
mod tests;
