//! `stream`: one-way, one send call per message, the receiver reads at the same size. The rate at which messages
//! arrive; both processes run at once.

use std::io;

use headwater_os::clock::now_ns;
use headwater_results::schema::{Better, RATE_DEFINITION};

use super::{Ends, Info, MetricInfo, Pattern, Topology, accepts_reliable, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::payload::Payload;
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::rounds::Rounds;
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint};

/// One-way streaming.
#[derive(Debug)]
pub struct Stream;

/// The metric of every streaming pattern.
pub(super) const RATE: MetricInfo = MetricInfo { name: "rate", unit: "messages/s", better: Better::Higher };

/// The order in which the two workers of a pattern are started and report.
pub(super) const PAIR: [Role; 2] = [Role::Receiver, Role::Sender];

impl Pattern for Stream {
    const INFO: Info = Info {
        name: "stream",
        definition_version: RATE_DEFINITION,
        summary: "one-way, one send call per message, reads of the same size; messages per second from the first send to the \
                  last receive, over at least 16 times what was on the way when the sender had ended",
        metrics: &[RATE],
        topology: Topology::TwoProcesses,
        duplex: false,
        nonblocking: false,
        external: true,
        counted: false,
    };

    const COST: LaunchCost = LaunchCost::VOLUME;

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        accepts_reliable(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) => send_all(end, round, context),
            Ends::Receiver(end) => receive_all(end, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        conduct_stream(team, job)
    }
}

/// The course of a launch for every pattern that streams one way.
pub(super) fn conduct_stream(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
    Rounds::new(team, job, &PAIR, Role::Receiver).rate(RATE.name)
}

/// The sender's loop.
pub(super) fn send_all<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    let start_ns = now_ns();
    for sequence in round.first..round.first + round.messages() {
        end.send(context.payload.message(sequence))?;
    }
    Ok(Report { start_ns, end_ns: now_ns(), ..Report::default() })
}

/// The receiver's loop: stamps mark the arrival of each batch's last message.
pub(super) fn receive_all<E: Endpoint>(
    end: &mut E,
    round: &Round,
    context: &mut WorkerContext<'_>,
) -> io::Result<Report> {
    // Two loops, so that the timed one carries nothing of the other.
    let receive = if round.full_check { receive_checked::<E, true> } else { receive_checked::<E, false> };
    receive(end, round, &mut context.payload)
}

fn receive_checked<E: Endpoint, const FULL_CHECK: bool>(
    end: &mut E,
    round: &Round,
    payload: &mut Payload,
) -> io::Result<Report> {
    let mut stamps_ns = Vec::with_capacity(round.batches as usize);
    let mut sequence = round.first;
    let start_ns = now_ns();
    for _ in 0..round.batches {
        for _ in 0..round.batch {
            if FULL_CHECK {
                payload.poison();
            }
            end.receive(payload.space())?;
            payload.verify(sequence)?;
            if FULL_CHECK {
                payload.verify_all(sequence)?;
            }
            sequence += 1;
        }
        stamps_ns.push(now_ns());
    }
    Ok(Report { start_ns, end_ns: now_ns(), stamps_ns, ..Report::default() })
}
