//! The patterns: what is done with a transport. One file each, and the table below.
//!
//! A pattern is generic over the transports: [`Pattern::serve`] is the timed loop, compiled for every endpoint type, and
//! [`Pattern::conduct`] leads the workers through it and turns their reports into metrics. It works the same for
//! forked workers and for external programs.

use std::io;

use headwater_results::schema::{Better, Metric};

use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Round};
use crate::harness::worker::WorkerContext;
use crate::transports::{self, Endpoint};

pub mod acknowledged;
mod cpu;
pub mod event_loop;
pub mod flood;
mod joined;
pub mod matrix;
pub mod paced;
pub mod pairs;
mod partial;
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

/// How many processes a pattern has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A sender and a receiver.
    TwoProcesses,
    /// One process that holds both ends.
    OneProcess,
    /// Two processes with two channels, each of which goes one way.
    TwoChannels,
    /// So many pairs of processes, each with a channel of its own. The scheduler places them on the CPUs of the row.
    Pairs(usize),
    /// Two processes with so many channels between them.
    Channels(usize),
}

/// A quantity that a pattern or facility yields.
#[derive(Clone, Copy, Debug)]
pub struct MetricInfo {
    /// As in [`Metric::name`].
    pub name: &'static str,
    /// As in [`Metric::unit`].
    pub unit: &'static str,
    /// Which direction is an improvement.
    pub better: Better,
}

impl MetricInfo {
    /// For a row.
    pub fn metric(&self) -> Metric {
        Metric { name: self.name.into(), unit: self.unit.into(), better: self.better }
    }
}

/// What a pattern is.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name in row ids.
    pub name: &'static str,
    /// Rows of different versions are not comparable.
    pub definition_version: u32,
    /// The definition in one or two sentences.
    pub summary: &'static str,
    /// What it yields, its own figure first.
    pub metrics: &'static [MetricInfo],
    /// How many processes it has.
    pub topology: Topology,
    /// Whether the receiver answers.
    pub duplex: bool,
    /// Whether the ends refuse instead of waiting.
    pub nonblocking: bool,
    /// Whether an external program may play it.
    pub external: bool,
    /// Whether a row fixes the number of messages too.
    pub counted: bool,
}

/// The ends that a worker holds.
#[derive(Debug)]
pub enum Ends<'a, E> {
    /// It sends first.
    Sender(&'a mut E),
    /// It receives first.
    Receiver(&'a mut E),
    /// It holds the sender's end and the receiver's.
    Both(&'a mut E, &'a mut E),
    /// It sends first: the sender's end of one channel and the receiver's of another.
    Asker {
        /// Requests go out of this end.
        out: &'a mut E,
        /// Answers come from this end.
        back: &'a mut E,
    },
    /// It receives first: the other ends of the channels of an [`Ends::Asker`].
    Answerer {
        /// Requests come from this end.
        requests: &'a mut E,
        /// Answers go out of this end.
        answers: &'a mut E,
    },
    /// It holds the sender's ends of all channels.
    Senders(&'a mut [E]),
    /// It holds the receiver's ends of all channels.
    Receivers(&'a mut [E]),
}

/// Something that is done with a transport.
pub trait Pattern {
    /// What it is.
    const INFO: Info;

    /// Whether the pattern makes sense over a transport with messages of `size` bytes.
    ///
    /// # Errors
    /// Why not, in words.
    fn accepts(transport: &transports::Info, size: usize) -> Result<(), String>;

    /// The timed loop: one round at one worker.
    ///
    /// # Errors
    /// What the endpoint reports, or a payload that is wrong.
    fn serve<E: Endpoint>(ends: Ends<'_, E>, round: &Round, context: &mut WorkerContext<'_>) -> io::Result<Report>;

    /// Leads the workers through a launch and says what was measured.
    ///
    /// # Errors
    /// As [`Team::round`].
    fn conduct(team: &mut Team, job: &Job) -> Result<Measured, LaunchError>;
}

/// A pattern in the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it is.
    pub info: &'static Info,
    /// Whether it makes sense over a transport with messages of this size, or why not.
    pub accepts: fn(&transports::Info, usize) -> Result<(), String>,
    /// [`Pattern::conduct`].
    pub conduct: fn(&mut Team, &Job) -> Result<Measured, LaunchError>,
}

macro_rules! table {
    ($($pattern:ty),+ $(,)?) => {
        /// Every pattern, in the order of the tables.
        pub static TABLE: &[Entry] = &[$(Entry {
            info: &<$pattern as Pattern>::INFO,
            accepts: accepts::<$pattern>,
            conduct: <$pattern as Pattern>::conduct,
        }),+];

        /// [`Pattern::serve`] of the pattern of that name.
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

/// The pattern of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.info.name == name)
}

/// [`Pattern::accepts`], after what the transport itself says of the pattern.
fn accepts<P: Pattern>(transport: &transports::Info, size: usize) -> Result<(), String> {
    match transport.unfit.iter().find(|(pattern, _)| *pattern == P::INFO.name) {
        Some((_, reason)) => Err(format!("{} {reason}", transport.name)),
        None => P::accepts(transport, size),
    }
}

/// The rule that most patterns share: the transport keeps every message, and takes one of `size` bytes.
///
/// # Errors
/// The limit that stands in the way, in words.
pub fn accepts_reliable(transport: &transports::Info, size: usize) -> Result<(), String> {
    if transport.lossy {
        return Err(format!("{} drops what its receiver does not take in time; see pattern flood", transport.name));
    }
    accepts_size(transport, size)
}

/// As [`accepts_reliable`], and an end of the transport is a descriptor that can be watched.
///
/// # Errors
/// What stands in the way, in words.
pub fn accepts_pollable(transport: &transports::Info, size: usize) -> Result<(), String> {
    if !transport.pollable {
        return Err(format!("an end of {} is no descriptor that could be watched", transport.name));
    }
    accepts_reliable(transport, size)
}

/// The transport takes a message of `size` bytes.
///
/// # Errors
/// The limit that stands in the way, in words.
pub fn accepts_size(transport: &transports::Info, size: usize) -> Result<(), String> {
    match transport.size_max {
        Some(size_max) if size > size_max => Err(format!("a message of {} holds at most {size_max} B", transport.name)),
        _ => Ok(()),
    }
}

/// The answer to ends that a pattern does not have; it would be a bug in the harness.
fn wrong_ends() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "this pattern has other ends")
}
