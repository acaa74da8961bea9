//! `flood`: the sender sends as fast as it can, whether or not the receiver keeps up, as netperf's UDP_STREAM. It shows
//! how many messages a lossy transport loses.
//!
//! A round is one sample of every metric. When the sender is done it publishes how many messages the system accepted.
//! The receiver ends when all of them have arrived, or when nothing has arrived for a while (about 5 ms) since the
//! announcement. Messages that are missing then are lost. Received messages are identified by their payload: see
//! [`check`].

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Instant;

use headwater_os::clock::now_ns;
use headwater_results::schema::Better;

use super::stream::PAIR;
use super::{Ends, Info, MetricInfo, Pattern, Topology, accepts_size, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::rounds::{FULL_CHECK_BYTES, FULL_CHECK_MESSAGES, Rounds, SLOPE_MAX, WARM_UP_STRETCH_MAX};
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint, Loss};
use check::LossyCheck;

pub mod check;

/// The pattern: one-way, without regard to the receiver.
#[derive(Debug)]
pub struct Flood;

const RX_RATE: MetricInfo = MetricInfo { name: "rx_rate", unit: "messages/s", better: Better::Higher };
const TX_RATE: MetricInfo = MetricInfo { name: "tx_rate", unit: "messages/s", better: Better::Higher };
const LOSS: MetricInfo = MetricInfo { name: "loss", unit: "ratio", better: Better::Lower };

/// Measured rounds per launch.
const ROUNDS: u32 = 5;

/// The minimum duration of a round, ns: the loss must not depend on a receiver that is scheduled a little late.
const ROUND_NS_MIN: f64 = 1e6;

/// Messages of the first calibrating round.
const CALIBRATION_MESSAGES: u64 = 256;

/// The shared word by which the sender announces that it is done: one more than the last message of the round, which
/// differs in each round.
const DONE: usize = 0;

/// The shared word with the number of messages that the system accepted.
const SENT: usize = 1;

impl Pattern for Flood {
    const INFO: Info = Info {
        name: "flood",
        definition_version: 1,
        summary: "one-way, the sender never waits for the receiver: messages received and messages sent without error, \
                  both per second of the sender's time, and the share of the sent ones that was lost; messages from \
                  8 bytes up are identified one by one, shorter ones must fit a message behind the last",
        metrics: &[RX_RATE, TX_RATE, LOSS],
        topology: Topology::TwoProcesses,
        duplex: false,
        nonblocking: false,
        external: false,
        counted: false,
    };
    /// A receiver waits 5 ms for what was lost, in every round; on one CPU it runs after the sender.
    const COST: LaunchCost = LaunchCost { timed: 1.7, warm_up: 2.0, attempts: 1.6, ..LaunchCost::fixed(0.05) };

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        if transport.loss == Loss::Never {
            return Err(format!("{} loses nothing: its sender waits; see pattern stream", transport.name));
        }
        accepts_size(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) => send_all(end, round, context),
            Ends::Receiver(end) => receive_what_comes(end, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        let mut rounds = Rounds::new(team, job, &PAIR, Role::Sender);
        let checked = (FULL_CHECK_BYTES / job.size() as u64).clamp(1, FULL_CHECK_MESSAGES);
        rounds.run(checked, 1, |round| round.full_check = true)?;
        let round_ns = (job.time_s * 1e9 / f64::from(ROUNDS)).max(ROUND_NS_MIN);
        let message_ns = calibrate(&mut rounds, round_ns)?;
        let (message_ns, warm_up_s, steady) = warm_up(&mut rounds, job, message_ns, round_ns)?;

        let messages = messages_in(round_ns, message_ns);
        let mut measured = Measured { batch_operations: messages, warm_up_s, steady, ..Measured::default() };
        for _ in 0..ROUNDS {
            let (sample, reports) = sample(&mut rounds, messages)?;
            for (metric, value) in [(RX_RATE, sample.rx_rate()), (TX_RATE, sample.tx_rate()), (LOSS, sample.loss())] {
                measured.series.entry(metric.name.into()).or_default().push(value);
            }
            for (&role, report) in PAIR.iter().zip(&reports) {
                measured.add_cost(role, report);
            }
            *measured.counters.entry("operations".into()).or_default() += sample.sent;
        }
        Ok(measured)
    }
}

/// The result of one round.
#[derive(Clone, Copy, Debug)]
struct Sample {
    sent: f64,
    received: f64,
    /// The sender's time, s.
    elapsed_s: f64,
}

impl Sample {
    fn rx_rate(&self) -> f64 {
        self.received / self.elapsed_s
    }

    fn tx_rate(&self) -> f64 {
        self.sent / self.elapsed_s
    }

    fn loss(&self) -> f64 {
        (self.sent - self.received) / self.sent
    }
}

/// Runs one round with `messages` messages.
fn sample(rounds: &mut Rounds<'_>, messages: u64) -> Result<(Sample, Vec<Report>), LaunchError> {
    let reports = rounds.run(messages, 1, |_| ())?;
    let [receiver, sender] = &reports[..] else {
        return Err(LaunchError::Failed("a flood has a receiver and a sender".into()));
    };
    let count = |report: &Report, name: &str| report.counters.get(name).copied().unwrap_or_default();
    let sample = Sample {
        sent: count(sender, "sent"),
        received: count(receiver, "received"),
        elapsed_s: sender.end_ns.saturating_sub(sender.start_ns).max(1) as f64 / 1e9,
    };
    if sample.sent == 0.0 {
        return Err(LaunchError::Failed(format!("the system refused all of {messages} messages (ENOBUFS)")));
    }
    Ok((sample, reports))
}

/// Raises the number of messages until they last a quarter of a round. Returns the sender's time per message, ns.
fn calibrate(rounds: &mut Rounds<'_>, round_ns: f64) -> Result<f64, LaunchError> {
    let mut messages = CALIBRATION_MESSAGES;
    loop {
        let (sample, _) = sample(rounds, messages)?;
        let elapsed_ns = sample.elapsed_s * 1e9;
        if elapsed_ns >= round_ns / 4.0 {
            return Ok(elapsed_ns / messages as f64);
        }
        messages = (messages as f64 * (round_ns / 4.0 / elapsed_ns).clamp(2.0, 16.0)) as u64;
    }
}

/// Runs until the minimum time is over and two rounds agree. Returns the sender's time per message in ns, the duration
/// of the warm-up in s, and whether the rounds agreed.
fn warm_up(
    rounds: &mut Rounds<'_>,
    job: &Job,
    mut message_ns: f64,
    round_ns: f64,
) -> Result<(f64, f64, bool), LaunchError> {
    let started = Instant::now();
    let least_s = job.warm_up_s;
    let round_ns = (least_s * 1e9 / 4.0).clamp(ROUND_NS_MIN, round_ns);
    loop {
        let messages = messages_in(round_ns, message_ns);
        let (sample, _) = sample(rounds, messages)?;
        let earlier_ns = message_ns;
        message_ns = sample.elapsed_s * 1e9 / messages as f64;
        let steady = (message_ns / earlier_ns - 1.0).abs() <= SLOPE_MAX;
        let elapsed_s = started.elapsed().as_secs_f64();
        if elapsed_s >= least_s && (steady || elapsed_s >= least_s * WARM_UP_STRETCH_MAX) {
            return Ok((message_ns, elapsed_s, steady));
        }
    }
}

fn messages_in(round_ns: f64, message_ns: f64) -> u64 {
    ((round_ns / message_ns).ceil() as u64).max(1)
}

/// The sender's loop is part of the transport, which knows how many messages one call sends.
fn send_all<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    context.shared.barrier.wait(PAIR.len() as u32);
    let start_ns = now_ns();
    let burst = end.send_burst(&mut context.payload, round.first, round.messages())?;
    let end_ns = now_ns();
    // Published by the Release store below.
    context.shared.words[SENT].store(burst.sent, Ordering::Relaxed);
    // Pairs with the Acquire load in `receive_what_comes`.
    context.shared.words[DONE].store(round.first + round.messages(), Ordering::Release);
    let counters = counters([("sent", burst.sent), ("refused", burst.refused)]);
    Ok(Report { start_ns, end_ns, counters, ..Report::default() })
}

/// The counters of a report. One copy, and not one for each transport: collecting a map sorts, which is 7 kB of machine code.
fn counters<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, f64> {
    counts.into_iter().map(|(name, count)| (name.to_owned(), count as f64)).collect()
}

/// The receiver's loop.
fn receive_what_comes<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    let end_sequence = round.first + round.messages();
    let mut check = LossyCheck::new(context.payload.size(), round.first..end_sequence, round.full_check);
    context.shared.barrier.wait(PAIR.len() as u32);
    let start_ns = now_ns();
    let mut sent = None;
    loop {
        if round.full_check {
            context.payload.poison();
        }
        match end.receive_burst(&mut context.payload, &mut |message| check.push(message)) {
            Ok(()) => {}
            // Silence counts only if the sender was done before the silence began.
            Err(error) if is_silence(&error) && sent.is_some() => break,
            Err(error) if is_silence(&error) => {}
            Err(error) => return Err(error),
        }
        // Pairs with the Release store in `send_all`.
        if sent.is_none() && context.shared.words[DONE].load(Ordering::Acquire) == end_sequence {
            sent = Some(context.shared.words[SENT].load(Ordering::Relaxed));
        }
        if sent.is_some_and(|sent| check.received() >= sent) {
            break;
        }
    }
    check.finish(sent.unwrap_or_default())?;
    let counters = counters([("received", check.received())]);
    Ok(Report { start_ns, end_ns: now_ns(), counters, ..Report::default() })
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
