//! `wake`: the one-way delay of a message to a receiver that sleeps.
//!
//! The sender waits until its last message was received, then pauses for 500 us, in which the receiver falls asleep
//! however long it may spin, takes the time, and sends. The receiver takes the time when its receive call returns.
//! The delay is the difference: the send call, the wake-up of the other process, the receive call. It is one-way, not
//! half of a round trip. While it pauses the sender sleeps, so that the CPUs are idle before each message, as they are
//! before a rare event.
//!
//! The samples of a launch are the medians of groups of 11 delays; the single delays are in the histogram.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use headwater_os::clock::{now_ns, sleep};
use headwater_results::histogram::Histogram;
use headwater_results::schema::{Better, Standing};

use super::matrix::between;
use super::stream::PAIR;
use super::{Ends, Info, MetricInfo, Pattern, Topology, accepts_size, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::rounds::Rounds;
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint};

/// The pattern `wake`: waking a sleeping receiver.
#[derive(Debug)]
pub struct Wake;

const ONE_WAY: MetricInfo = MetricInfo { name: "one_way", unit: "ns", better: Better::Lower };

/// How long the sender sleeps before a message: far longer than any transport spins.
const PAUSE: Duration = Duration::from_micros(500);

/// The duration of one message: the pause, and the delay of the timer (50 us of slack by default).
const MESSAGE_S: f64 = 550e-6;

/// Delays in a group; odd, so that its median is one of them.
const GROUP: u64 = 11;

/// Which of [`SharedState::words`](crate::harness::worker::SharedState) contains the number of messages that were
/// received in this round.
const RECEIVED: usize = 0;

impl Pattern for Wake {
    const INFO: Info = Info {
        name: "wake",
        definition_version: 1,
        summary: "one-way delay of a single message to a receiver that has slept for 500 us, from before the send to \
                  after the receive",
        metrics: &[ONE_WAY],
        topology: Topology::TwoProcesses,
        duplex: false,
        nonblocking: false,
        external: false,
        counted: false,
    };
    const COST: LaunchCost = LaunchCost::fixed(0.075);

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        if transport.standing == Standing::Null {
            return Err(format!("no process sleeps in {}", transport.name));
        }
        if transport.spins {
            return Err(format!("a receiver of {} never sleeps", transport.name));
        }
        // A transport that drops messages under overload does not drop one message at a time.
        accepts_size(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) => send_rarely(end, round, context),
            Ends::Receiver(end) => receive_asleep(end, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        let mut rounds = Rounds::new(team, job, &PAIR, Role::Receiver);
        rounds.run(GROUP, 1, |round| round.full_check = true)?;
        let started = Instant::now();
        rounds.run(GROUP, groups(job.warm_up_s), |_| ())?;
        let warm_up_s = started.elapsed().as_secs_f64();
        let groups = groups(job.time_s);
        let reports = rounds.run(GROUP, groups, |_| ())?;

        let mut delays_ns = between(&reports[1].stamps_ns, &reports[0].stamps_ns);
        if delays_ns.len() as u64 != groups * GROUP {
            return Err(LaunchError::Failed("the workers did not time every message".into()));
        }
        let mut histogram = Histogram::new();
        delays_ns.iter().for_each(|&ns| histogram.record_ns(ns));
        // Messages this rare show no trend: the CPUs are idle before each of them.
        let mut measured = Measured { batch_operations: GROUP, warm_up_s, steady: true, ..Measured::default() };
        measured.series.insert(ONE_WAY.name.into(), medians(&mut delays_ns));
        measured.histograms.insert(ONE_WAY.name.into(), histogram.to_pairs());
        measured.counters.insert("operations".into(), (groups * GROUP) as f64);
        for (role, report) in PAIR.into_iter().zip(&reports) {
            measured.add_cost(role, report);
        }
        Ok(measured)
    }
}

/// Returns how many groups of messages fit into `time_s`, at least one.
fn groups(time_s: f64) -> u64 {
    ((time_s / MESSAGE_S / GROUP as f64) as u64).max(1)
}

/// Returns the median of each group, ns.
fn medians(delays_ns: &mut [u64]) -> Vec<f64> {
    delays_ns
        .chunks_exact_mut(GROUP as usize)
        .map(|group| *group.select_nth_unstable(GROUP as usize / 2).1 as f64)
        .collect()
}

/// The sender's loop: takes a stamp right before each message.
fn send_rarely<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    let received = &context.shared.words[RECEIVED];
    let mut stamps_ns = Vec::with_capacity(round.messages() as usize);
    let start_ns = now_ns();
    for sequence in round.first..round.first + round.messages() {
        loop {
            // Counted from the first round on, so that no round has to reset the word. Pairs with the Release store of
            // the receiver.
            let was_received = received.load(Ordering::Acquire) == sequence;
            sleep(PAUSE);
            if was_received {
                break;
            }
        }
        let message = context.payload.message(sequence);
        stamps_ns.push(now_ns());
        end.send(message)?;
    }
    Ok(Report { start_ns, end_ns: now_ns(), stamps_ns, ..Report::default() })
}

/// The receiver's loop: takes a stamp right after each message.
fn receive_asleep<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    let received = &context.shared.words[RECEIVED];
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
        // Pairs with the Acquire load of the sender: the message is received before the sender's pause begins.
        received.store(sequence + 1, Ordering::Release);
    }
    Ok(Report { start_ns, end_ns: now_ns(), stamps_ns, ..Report::default() })
}

#[cfg(test)]
mod tests;
