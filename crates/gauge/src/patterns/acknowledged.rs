//! `acknowledged`: one-way messages, each acknowledged by one byte. The sender waits for the acknowledgement before it
//! sends the next message. The figure is the rate of messages.
//!
//! A program has to send in this way over a transport that drops messages when the receiver is slow. The published
//! bandwidth of UDP after UNPv2 was measured so: it is the size divided by the time of an exchange.

use std::io;

use headwater_results::schema::Standing;

use super::rtt::{accepts_answers, answer, in_batches};
use super::stream::{PAIR, RATE};
use super::{Ends, Info, Pattern, Topology, accepts_size, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::payload::Payload;
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::rounds::Rounds;
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint};

/// One-way streaming in which every message is acknowledged.
#[derive(Debug)]
pub struct Acknowledged;

impl Pattern for Acknowledged {
    const INFO: Info = Info {
        name: "acknowledged",
        definition_version: 1,
        summary: "one-way, each message acknowledged by one byte before the next is sent; messages per second",
        metrics: &[RATE],
        topology: Topology::TwoProcesses,
        duplex: true,
        nonblocking: false,
        external: false,
        counted: false,
    };
    const COST: LaunchCost = LaunchCost::fixed(0.025);

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        accepts_answers(transport)?;
        if transport.standing == Standing::Null {
            return Err(format!("no message of {} goes from one end to the other", transport.name));
        }
        accepts_size(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) => send_all(end, round, context),
            // The acknowledgement is the first byte of the message, so that it cannot be mistaken for that of the
            // previous one.
            Ends::Receiver(end) => answer(end, round, context, 1),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        let batches = Rounds::new(team, job, &PAIR, Role::Sender).measure()?;
        let mut measured = batches.measured(&PAIR);
        measured.series.insert(RATE.name.into(), batches.rates());
        Ok(measured)
    }
}

/// The sender's loop. Its stamps mark the acknowledgement of each batch's last message.
fn send_all<E: Endpoint>(end: &mut E, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
    // A message queue does not accept a buffer that is smaller than its maximum message.
    let mut reply = Payload::new(context.payload.size());
    in_batches(round, |sequence| {
        let message = context.payload.message(sequence);
        let expected = message[0];
        end.send(message)?;
        let count = end.receive_some(reply.space())?;
        if count == 1 && reply.space()[0] == expected { Ok(()) } else { Err(wrong_acknowledgement(sequence, count)) }
    })
}

#[cold]
fn wrong_acknowledgement(sequence: u64, count: usize) -> io::Error {
    match count {
        0 => io::ErrorKind::UnexpectedEof.into(),
        _ => io::Error::new(
            io::ErrorKind::InvalidData,
            format!("message {sequence} was acknowledged by {count} bytes that are not its first one"),
        ),
    }
}

#[cfg(test)]
mod tests;
