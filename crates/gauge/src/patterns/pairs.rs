//! `pairs-stream`, `pairs-rtt`: more busy processes than CPUs. 8 pairs of processes, each with its own channel, run at
//! once on the CPUs of the row (two, or one). Measures the rate of all pairs together, or the round trip of one pair.
//!
//! The scheduler places the 16 processes. A round has the same number of messages for each pair. It lasts from the
//! first start to the last end, so that the pair that finishes last counts in full. The loops are those of `stream` and
//! `rtt`. The samples of a launch are its rounds ([`whole_rounds`](super::whole_rounds)).

use std::io;

use headwater_results::schema::{RATE_DEFINITION, Standing};

use super::cpu::CPU;
use super::rtt::{RTT, accepts_answers, ask, reply};
use super::stream::{RATE, receive_all, send_all};
use super::whole_rounds::{conduct_rounds, elapsed_ns};
use super::{Ends, Info, Pattern, Topology, accepts_reliable, wrong_ends};
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Round};
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint};

/// Streams.
#[derive(Debug)]
pub struct PairsStream;

/// Round trips.
#[derive(Debug)]
pub struct PairsRoundTrip;

/// Pairs of processes.
const PAIRS: usize = 8;

const INFO: Info = Info {
    name: "pairs-stream",
    definition_version: RATE_DEFINITION,
    summary: "8 pairs of processes on the CPUs of the row, each streams over its own channel; messages per second of all",
    metrics: &[RATE, CPU],
    topology: Topology::Pairs(PAIRS),
    duplex: false,
    nonblocking: false,
    external: false,
    counted: false,
};

impl Pattern for PairsStream {
    const INFO: Info = INFO;
    const COST: LaunchCost = LaunchCost { timed: 0.85, ..LaunchCost::rounds(0.037) };

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        accepts_crowd(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) => send_all(end, round, context),
            Ends::Receiver(end) => receive_all(end, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        // Messages of all pairs in the time of a round.
        conduct_rounds(team, job, PAIRS, RATE.name, |messages, reports| {
            (PAIRS as u64 * messages) as f64 / elapsed_ns(reports) * 1e9
        })
    }
}

impl Pattern for PairsRoundTrip {
    const INFO: Info = Info {
        name: "pairs-rtt",
        definition_version: 1,
        summary: "8 pairs of processes on the CPUs of the row, request and answer over each channel; mean round trip of a pair",
        metrics: &[RTT, CPU],
        duplex: true,
        ..INFO
    };
    const COST: LaunchCost = LaunchCost::rounds(0.08);

    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String> {
        accepts_answers(transport)?;
        accepts_crowd(transport, size)
    }

    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report> {
        match ends {
            Ends::Sender(end) => ask(end, round, context),
            Ends::Receiver(end) => reply(end, round, context),
            _ => Err(wrong_ends()),
        }
    }

    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError> {
        // Each pair's own time counts, so that a pair that finishes early does not count as slow as the last.
        conduct_rounds(team, job, PAIRS, RTT.name, |messages, reports| {
            let asking = reports.iter().skip(1).step_by(2);
            let total_ns: u64 = asking.map(|report| report.end_ns.saturating_sub(report.start_ns)).sum();
            total_ns as f64 / (PAIRS as u64 * messages) as f64
        })
    }
}

/// Checks what both patterns need: a transport that drops nothing, and waiting processes that leave the CPU to others.
fn accepts_crowd(transport: &transports::Info, size: usize) -> Result<(), String> {
    // Otherwise its rounds would only show how 16 processes are started.
    if transport.standing == Standing::Null {
        return Err(format!("no message of {} goes from one end to the other", transport.name));
    }
    if transport.spins {
        return Err(format!(
            "{} spins: {} processes on few CPUs wait out each other's time slices",
            transport.name,
            2 * PAIRS
        ));
    }
    accepts_reliable(transport, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_spins_is_not_put_into_a_crowd() {
        use crate::transports::{Transport, null::Null, pipe::Pipe, ring::RingSpin};
        PairsStream::accepts(&Pipe::INFO, 64).expect("a pipe's ends sleep");
        PairsStream::accepts(&RingSpin::INFO, 64).expect_err("it spins");
        PairsStream::accepts(&Null::INFO, 64).expect_err("it moves nothing");
    }
}
