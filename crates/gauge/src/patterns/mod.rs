//! The patterns: how a transport is used in a measurement. One file each, and the table below.
//!
//! A pattern is generic over the transports: [`Pattern::serve`] is the timed loop, compiled for every endpoint type, and
//! [`Pattern::conduct`] leads the workers through it and turns their reports into metrics. It works the same for
//! forked workers and for external programs.

use std::io;

use headwater_results::schema::{Better, Metric};

use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Round};
use crate::harness::worker::WorkerContext;
use crate::plan::cost::LaunchCost;
use crate::transports::{self, Endpoint, Loss};

pub mod acknowledged;
mod cpu;
pub mod event_loop;
pub mod flood;
mod joined;
pub mod matrix;
pub mod paced;
pub mod pairs;
mod partial;
pub mod perftest;
pub mod poll_both_ways;
pub mod rtt;
pub mod rtt_two_channels;
pub mod single;
pub mod stream;
pub mod stream_full;
pub mod wake;
mod whole_rounds;

#[cfg(test)]
mod testing;

/// The processes and channels of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A sender and a receiver.
    TwoProcesses,
    /// One process that holds both ends.
    OneProcess,
    /// Two processes with two channels, each used in one direction.
    TwoChannels,
    /// So many pairs of processes, each with its own channel. The scheduler places them on the CPUs of the row.
    Pairs(usize),
    /// Two processes with so many channels between them.
    Channels(usize),
}

/// A quantity that a pattern or facility measures.
#[derive(Clone, Copy, Debug)]
pub struct MetricInfo {
    /// As in [`Metric::name`].
    pub name: &'static str,
    /// As in [`Metric::unit`].
    pub unit: &'static str,
    /// Whether a lower or a higher value is better.
    pub better: Better,
}

impl MetricInfo {
    /// Returns the metric for a row.
    pub fn metric(&self) -> Metric {
        Metric { name: self.name.into(), unit: self.unit.into(), better: self.better }
    }
}

/// The properties of a pattern.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name in row ids.
    pub name: &'static str,
    /// Rows of different versions are not comparable.
    pub definition_version: u32,
    /// The definition in one or two sentences.
    pub summary: &'static str,
    /// The metrics, the pattern's own figure first.
    pub metrics: &'static [MetricInfo],
    /// The processes and channels.
    pub topology: Topology,
    /// Whether the receiver answers.
    pub duplex: bool,
    /// Whether the ends are non-blocking.
    pub nonblocking: bool,
    /// Whether an external program can take part.
    pub external: bool,
    /// Whether a row also fixes the number of messages.
    pub counted: bool,
}

/// The ends that a worker holds.
#[derive(Debug)]
pub enum Ends<'a, E> {
    /// The sender's end: this worker sends first.
    Sender(&'a mut E),
    /// The receiver's end: this worker receives first.
    Receiver(&'a mut E),
    /// The sender's and the receiver's end.
    Both(&'a mut E, &'a mut E),
    /// The ends of a worker that sends first: the sender's end of one channel and the receiver's of another.
    Asker {
        /// The end to which requests are sent.
        out: &'a mut E,
        /// The end from which answers are received.
        back: &'a mut E,
    },
    /// The ends of a worker that receives first: the other ends of the channels of an [`Ends::Asker`].
    Answerer {
        /// The end from which requests are received.
        requests: &'a mut E,
        /// The end to which answers are sent.
        answers: &'a mut E,
    },
    /// The sender's ends of all channels.
    Senders(&'a mut [E]),
    /// The receiver's ends of all channels.
    Receivers(&'a mut [E]),
}

/// A way of using a transport, which is timed.
pub trait Pattern {
    /// The properties of the pattern.
    const INFO: Info;

    /// What a launch takes, for the estimate of a plan.
    const COST: LaunchCost = LaunchCost::USUAL;

    /// Checks whether the pattern makes sense over a transport with messages of `size` bytes.
    ///
    /// # Errors
    /// The reason why not.
    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String>;

    /// Runs one round in one worker: the timed loop.
    ///
    /// # Errors
    /// Errors of the endpoint, and the error for a wrong payload.
    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report>;

    /// Leads the workers through a launch and returns the result.
    ///
    /// # Errors
    /// As [`Team::round`].
    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError>;
}

/// A pattern in the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The properties of the pattern.
    pub info: &'static Info,
    /// [`Pattern::COST`].
    pub cost: LaunchCost,
    /// Checks whether it makes sense over a transport with messages of this size; the error is the reason why not.
    pub accepts: fn(&transports::Info, usize) -> Result<(), String>,
    /// [`Pattern::conduct`].
    pub conduct: fn(&mut Team, &Job) -> Result<Measured, LaunchError>,
}

macro_rules! table {
    ($($pattern:ty),+ $(,)?) => {
        /// All patterns, in the order of the tables.
        pub static TABLE: &[Entry] = &[$(Entry {
            info: &<$pattern as Pattern>::INFO,
            cost: <$pattern as Pattern>::COST,
            accepts: accepts::<$pattern>,
            conduct: <$pattern as Pattern>::conduct,
        }),+];

        /// Calls [`Pattern::serve`] of the pattern with that name.
        ///
        /// # Errors
        /// As [`Pattern::serve`]; `Unsupported` for a name that is not in the table.
        pub fn serve<E: Endpoint>(
            name: &str,
            ends: Ends<'_, E>,
            round: &Round,
            context: &mut WorkerContext<'_>,
        ) -> io::Result<Report> {
            $(if name == <$pattern as Pattern>::INFO.name {
                return <$pattern as Pattern>::serve(ends, round, context);
            })+
            Err(io::Error::new(io::ErrorKind::Unsupported, format!("no pattern {name}")))
        }
    };
}

table![
    stream::Stream,
    stream_full::StreamFull,
    perftest::Perftest,
    acknowledged::Acknowledged,
    single::Single,
    rtt::RoundTrip,
    rtt_two_channels::RoundTripTwoChannels,
    wake::Wake,
    paced::Paced<100>,
    paced::Paced<1_000>,
    paced::Paced<10_000>,
    pairs::PairsStream,
    pairs::PairsRoundTrip,
    event_loop::EventLoop<false>,
    event_loop::EventLoop<true>,
    poll_both_ways::PollBothWays,
    matrix::Matrix,
    flood::Flood
];

/// Returns the pattern with that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.info.name == name)
}

/// Calls [`Pattern::accepts`], after checking the transport's list of unfit patterns.
fn accepts<P: Pattern>(transport: &transports::Info, size: usize) -> Result<(), String> {
    match transport.unfit.iter().find(|(pattern, _)| *pattern == P::INFO.name) {
        Some((_, reason)) => Err(format!("{} {reason}", transport.name)),
        None => P::accepts(transport, size),
    }
}

/// Checks what most patterns need: a transport that drops no message and accepts one of `size` bytes.
///
/// # Errors
/// The requirement that is not met.
pub fn accepts_reliable(transport: &transports::Info, size: usize) -> Result<(), String> {
    if transport.loss == Loss::Possible {
        return Err(format!("{} drops what its receiver does not take in time; see pattern flood", transport.name));
    }
    accepts_size(transport, size)
}

/// Checks as [`accepts_reliable`], and that the ends of the transport are file descriptors that can be watched.
///
/// # Errors
/// The requirement that is not met.
pub fn accepts_pollable(transport: &transports::Info, size: usize) -> Result<(), String> {
    if !transport.pollable {
        return Err(format!("an end of {} is no descriptor that could be watched", transport.name));
    }
    accepts_reliable(transport, size)
}

/// Checks that the transport accepts a message of `size` bytes.
///
/// # Errors
/// The limit that is exceeded.
pub fn accepts_size(transport: &transports::Info, size: usize) -> Result<(), String> {
    match transport.size_max {
        Some(size_max) if size > size_max => Err(format!("a message of {} holds at most {size_max} B", transport.name)),
        _ => Ok(()),
    }
}

/// Returns the error for ends that the pattern does not have, which would be a bug in the harness.
fn wrong_ends() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "this pattern has other ends")
}
