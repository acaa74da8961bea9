//! `perftest`: like `stream-full`, but a read asks for no more than the rest of the round.
//!
//! With it, a read also ends if it waits for its whole count (RFILL) or announces it (SNDMREAD): the pipe experiment ran
//! CentOS 5.2 with both and with full reads. The published figures of that run are rows of this pattern.

use std::io;

use headwater_results::schema::RATE_DEFINITION;

use super::stream::{RATE, conduct_stream, send_all};
use super::stream_full::{READ_BYTES, ReadCount, StreamFull, receive};
use super::{Ends, Info, Pattern, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Round};
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint};

/// One-way streaming with full reads that end with the round.
#[derive(Debug)]
pub struct Perftest;

impl Pattern for Perftest {
    const INFO: Info = Info {
        name: "perftest",
        definition_version: RATE_DEFINITION,
        summary: "one-way, one send call per message, reads of up to 64 KiB but not beyond the round; messages per \
                  second, as stream counts them",
        metrics: &[RATE],
        ..StreamFull::INFO
    };

    const COST: LaunchCost = LaunchCost::VOLUME;

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        StreamFull::accepts(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) => send_all(end, round, context),
            Ends::Receiver(end) => receive::<E, RestOfRound>(end, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        conduct_stream(team, job)
    }
}

/// The bytes of the round that have not been read.
struct RestOfRound(u64);

impl ReadCount for RestOfRound {
    fn new(bytes: u64) -> RestOfRound {
        RestOfRound(bytes)
    }

    #[inline]
    fn next(&self) -> usize {
        self.0.min(READ_BYTES as u64) as usize
    }

    #[inline]
    fn took(&mut self, count: usize) {
        self.0 -= count as u64;
    }
}
