//! `rtt`: ping-pong. One message and an answer of the same size, with no other message in flight: a closed loop.
//!
//! The figure is the mean over a batch of exchanges, which needs no clock read in the loop. The percentiles come from a
//! second part, in which every exchange is timed individually.

use std::io;

use headwater_os::clock::now_ns;
use headwater_results::histogram::Histogram;
use headwater_results::schema::Better;

use super::stream::PAIR;
use super::{Ends, Info, MetricInfo, Pattern, Topology, accepts_size, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::lmbench_rule::{self, LmbenchRule};
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::rounds::Rounds;
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint};

/// Ping-pong.
#[derive(Debug)]
pub struct RoundTrip;

/// Checks that the transport suits a pattern with one message in flight. One that holds writes back would wait for ever.
///
/// # Errors
/// The reason, for `list`.
pub(super) fn accepts_answers(transport: &transports::Info) -> Result<(), String> {
    match transport.unfit.iter().find(|(pattern, _)| *pattern == RoundTrip::INFO.name) {
        Some((_, reason)) => Err(format!("{} {reason}", transport.name)),
        None => Ok(()),
    }
}

/// The metric of every pattern with requests and answers.
pub(super) const RTT: MetricInfo = MetricInfo { name: "rtt", unit: "ns", better: Better::Lower };

/// The share of the measured time for individually timed exchanges.
const HISTOGRAM_BATCHES: u64 = 10;

impl Pattern for RoundTrip {
    const INFO: Info = Info {
        name: "rtt",
        definition_version: 1,
        summary: "round trip: a message forth and one of the same size back, closed loop; mean time per exchange, \
                  percentiles of single exchanges",
        metrics: &[RTT],
        topology: Topology::TwoProcesses,
        duplex: true,
        nonblocking: false,
        external: true,
        counted: false,
    };
    const COST: LaunchCost = LaunchCost::round_trips(0.038);

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        accepts_size(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) if round.histogram => ask_timed(end, round, context),
            Ends::Sender(end) => ask(end, round, context),
            Ends::Receiver(end) => reply(end, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        let mut measured = conduct_rtt(team, job)?;
        lmbench_rule::add(&mut measured, &job.row, LmbenchRule::Median);
        Ok(measured)
    }
}

/// Conducts a launch of a pattern with one client and one server.
pub(super) fn conduct_rtt(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
    let mut rounds = Rounds::new(team, job, &PAIR, Role::Sender);
    let batches = rounds.measure()?;
    let timed = rounds.run(batches.operations, HISTOGRAM_BATCHES, |round| round.histogram = true)?;
    let mut measured = batches.measured(&PAIR);
    measured.series.insert(RTT.name.into(), batches.operation_ns());
    measured.histograms.insert(RTT.name.into(), timed[1].histogram.clone());
    Ok(measured)
}

/// Does one exchange as the client.
#[inline]
fn exchange<E: Endpoint>(end: &mut E, sequence: u64, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<()> {
    end.send(context.payload.message(sequence))?;
    if round.full_check {
        context.payload.poison();
    }
    end.receive(context.payload.space())?;
    context.payload.verify(sequence)?;
    if round.full_check {
        context.payload.verify_all(sequence)?;
        // The next message reuses this buffer with other stamps; the check above has verified its background.
    }
    Ok(())
}

/// The client's loop.
pub(super) fn ask<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    in_batches(round, |sequence| exchange(end, sequence, round, context))
}

/// Does an exchange for each message of a round; stamps mark the end of each batch.
#[inline]
pub(super) fn in_batches(round: &Round, mut exchange: impl FnMut(u64) -> io::Result<()>) -> io::Result<Report> {
    let mut stamps_ns = Vec::with_capacity(round.batches as usize);
    let mut sequence = round.first;
    let start_ns = now_ns();
    for _ in 0..round.batches {
        for _ in 0..round.batch {
            exchange(sequence)?;
            sequence += 1;
        }
        stamps_ns.push(now_ns());
    }
    Ok(Report { start_ns, end_ns: now_ns(), stamps_ns, ..Report::default() })
}

/// The client's loop when every exchange is timed individually.
pub(super) fn ask_timed<E: Endpoint>(
    end: &mut E,
    round: &Round,
    context: &mut WorkerContext<'_>,
) -> io::Result<Report> {
    let mut histogram = Histogram::new();
    let start_ns = now_ns();
    let mut last_ns = start_ns;
    for sequence in round.first..round.first + round.messages() {
        exchange(end, sequence, round, context)?;
        let this_ns = now_ns();
        histogram.record_ns(this_ns - last_ns);
        last_ns = this_ns;
    }
    Ok(Report { start_ns, end_ns: last_ns, histogram: histogram.to_pairs(), ..Report::default() })
}

/// The server's loop: sends back what it received.
pub(super) fn reply<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    let bytes = context.payload.size();
    answer(end, round, context, bytes)
}

/// The server's loop: sends back the first `bytes` bytes of each message that it received.
#[inline]
pub(super) fn answer<E: Endpoint>(
    end: &mut E,
    round: &Round,
    context: &mut WorkerContext<'_>,
    bytes: usize,
) -> io::Result<Report> {
    let start_ns = now_ns();
    for sequence in round.first..round.first + round.messages() {
        if round.full_check {
            context.payload.poison();
        }
        end.receive(context.payload.space())?;
        context.payload.verify(sequence)?;
        if round.full_check {
            context.payload.verify_all(sequence)?;
        }
        end.send(&context.payload.space()[..bytes])?;
    }
    Ok(Report { start_ns, end_ns: now_ns(), ..Report::default() })
}
