//! `rtt-two-channels`: request and answer over two channels, each of which is used in one direction only: the way in which
//! a program drives another one through its standard input and output.
//!
//! A transport that is full-duplex has two pairs of ends here, where [`rtt`](super::rtt) has one. Neither end of a channel
//! ever sees its peer use the other direction. The loops are those of `rtt`.

use std::io;

use super::cpu::{self, CPU};
use super::joined::Joined;
use super::rtt::{RTT, accepts_answers, ask, ask_timed, conduct_rtt, reply};
use super::{Ends, Info, Pattern, Topology, accepts_size, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Round};
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint};

/// Ping-pong over two one-way channels.
#[derive(Debug)]
pub struct RoundTripTwoChannels;

impl Pattern for RoundTripTwoChannels {
    const INFO: Info = Info {
        name: "rtt-two-channels",
        definition_version: 1,
        summary: "round trip over two channels, each used in one direction: a message forth, one of the same size back, \
                  closed loop",
        metrics: &[RTT, CPU],
        topology: Topology::TwoChannels,
        duplex: false,
        nonblocking: false,
        external: false,
        counted: false,
    };
    const COST: LaunchCost = LaunchCost::round_trips(0.035);

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        accepts_answers(transport)?;
        accepts_size(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Asker { out, back } if round.histogram => ask_timed(&mut Joined { out, back }, round, context),
            Ends::Asker { out, back } => ask(&mut Joined { out, back }, round, context),
            Ends::Answerer { requests, answers } => reply(&mut Joined { out: answers, back: requests }, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        let mut measured = conduct_rtt(team, job)?;
        cpu::add(&mut measured);
        Ok(measured)
    }
}
