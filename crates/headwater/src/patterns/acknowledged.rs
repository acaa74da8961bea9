//! `acknowledged`: one-way, and the receiver acknowledges every message by one byte, for which the sender waits before it sends
//! the next one. The rate at which messages go.
//!
//! So must a program send over a transport that drops what its receiver does not take in time, and so the bandwidth of UDP was
//! measured after UNPv2: in the published table it is the size over the time of an exchange.

use std::io;

use headwater_os::clock::now_ns;
use headwater_results::schema::Standing;

use super::stream::{PAIR, RATE};
use super::{Ends, Info, Pattern, Topology, accepts_size, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::payload::Payload;
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::rounds::Rounds;
use crate::harness::worker::Desk;
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

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        // An answer that is held back makes no sense here either.
        if let Some((_, reason)) = transport.unfit.iter().find(|(pattern, _)| *pattern == "rtt") {
            return Err(format!("{} {reason}", transport.name));
        }
        if transport.standing == Standing::Null {
            return Err(format!("no message of {} goes from one end to the other", transport.name));
        }
        accepts_size(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, desk: &mut Desk<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) => send_all(end, round, desk),
            Ends::Receiver(end) => acknowledge_all(end, round, desk),
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

/// The sender's loop: stamps mark the acknowledgement of each batch's last message.
fn send_all<E: Endpoint>(end: &mut E, round: &Round, desk: &mut Desk<'_>) -> io::Result<Report> {
    // A queue takes no buffer that is smaller than its messages may be.
    let mut answer = Payload::new(desk.payload.size());
    let mut stamps_ns = Vec::with_capacity(round.batches as usize);
    let mut sequence = round.first;
    let start_ns = now_ns();
    for _ in 0..round.batches {
        for _ in 0..round.batch {
            let message = desk.payload.message(sequence);
            let expected = message[0];
            end.send(message)?;
            let count = end.receive_some(answer.space())?;
            if count != 1 || answer.space()[0] != expected {
                return Err(wrong_acknowledgement(sequence, count));
            }
            sequence += 1;
        }
        stamps_ns.push(now_ns());
    }
    Ok(Report { start_ns, end_ns: now_ns(), stamps_ns, ..Report::default() })
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

/// The receiver's loop. The acknowledgement is the first byte of the message, so that it cannot be that of the one before.
fn acknowledge_all<E: Endpoint>(end: &mut E, round: &Round, desk: &mut Desk<'_>) -> io::Result<Report> {
    let start_ns = now_ns();
    for sequence in round.first..round.first + round.messages() {
        if round.full_check {
            desk.payload.poison();
        }
        end.receive(desk.payload.space())?;
        desk.payload.verify(sequence)?;
        if round.full_check {
            desk.payload.verify_all(sequence)?;
        }
        end.send(&desk.payload.space()[..1])?;
    }
    Ok(Report { start_ns, end_ns: now_ns(), ..Report::default() })
}

#[cfg(test)]
mod tests;
