//! The messages between the conductor of a launch and its workers: one JSON object per line.
//!
//! Forked workers and the external programs of `--transport-cmd` use the same messages, so an external transport is a
//! row like any other. docs/external-transports.md describes the protocol for their authors.

use std::collections::BTreeMap;
use std::path::PathBuf;

use headwater_os_tools::usage::Usage;
use serde::{Deserialize, Serialize};

/// The version of the protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// The part of a pattern that a worker plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The end that sends first; the client of a round trip.
    Sender,
    /// The end that receives first; the server of a round trip.
    Receiver,
    /// Both ends in one process.
    Both,
    /// One of several workers that do the same.
    Worker,
}

impl Role {
    /// Returns the name that messages and counters use.
    pub fn name(self) -> &'static str {
        match self {
            Role::Sender => "sender",
            Role::Receiver => "receiver",
            Role::Both => "both",
            Role::Worker => "worker",
        }
    }
}

/// A request of the conductor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// Asks the program to describe itself. Answered by [`Reply::Description`]. External programs only.
    Describe,
    /// Asks for the worker's end. Answered by [`Reply::Ready`], [`Reply::Skipped`] or [`Reply::Error`]. The receiver is
    /// asked first. External programs only: a forked worker has its end already.
    Prepare(Prepare),
    /// Starts a round. Answered by [`Reply::Result`] or [`Reply::Error`].
    Run(Round),
    /// Tells the worker to clean up and exit with status 0.
    Finish,
}

/// The parameters that an external program needs to open its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// Sender or receiver.
    pub role: Role,
    /// `stream` or `rtt`.
    pub pattern: String,
    /// Bytes per message.
    pub size: usize,
    /// A private directory for objects that need a path; the harness removes it afterwards.
    pub directory: PathBuf,
    /// A name that no other launch on this machine has: letters, digits and `-`.
    pub token: String,
}

/// One round of messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Sequence number of the first message.
    pub first: u64,
    /// Messages (or exchanges) per batch.
    pub batch: u64,
    /// Number of batches, without a pause between them.
    pub batches: u64,
    /// Whether every byte of every message is compared, instead of the stamps only.
    pub full_check: bool,
    /// Whether every exchange is timed individually and the reply contains their histogram.
    pub histogram: bool,
}

impl Round {
    /// Returns the total number of messages.
    pub fn messages(&self) -> u64 {
        self.batch * self.batches
    }
}

/// A reply of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Reply {
    /// The program's description of itself.
    Description(Description),
    /// The end is open.
    Ready,
    /// The round is complete.
    Result(Report),
    /// This machine cannot run the row.
    Skipped {
        /// The reason.
        reason: String,
    },
    /// An error occurred.
    Error {
        /// The reason.
        message: String,
    },
}

/// The description of an external program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The name of its rows: a letter or digit, then letters, digits, `-`, `_` or `.`.
    pub name: String,
    /// The version of the library that it measures.
    #[serde(default)]
    pub version: String,
    /// One line for `list`.
    #[serde(default)]
    pub summary: String,
    /// The patterns that it supports.
    pub patterns: Vec<String>,
    /// Smallest message, bytes.
    #[serde(default = "one")]
    pub size_min: u64,
    /// Largest message, bytes.
    #[serde(default)]
    pub size_max: Option<u64>,
    /// How a receiver waits: `sleeps in epoll`, `spins`.
    #[serde(default)]
    pub blocking: String,
}

fn one() -> u64 {
    1
}

/// What a worker measured in a round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `CLOCK_MONOTONIC` before the first message, ns.
    pub start_ns: u64,
    /// `CLOCK_MONOTONIC` after the last message, ns.
    pub end_ns: u64,
    /// `CLOCK_MONOTONIC` after each batch, ns; the pattern defines the exact place.
    #[serde(default)]
    pub stamps_ns: Vec<u64>,
    /// The durations that are subtracted from the batches, ns; for operations whose definition subtracts something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtracted_ns: Vec<u64>,
    /// Pairs of (duration in ns, count), if a histogram was requested.
    #[serde(default)]
    pub histogram: Vec<(u64, u64)>,
    /// Event counts: messages received, refusals, ...
    #[serde(default)]
    pub counters: BTreeMap<String, f64>,
    /// The cost of the round for this process; absent if the program does not report it.
    #[serde(default)]
    pub cost: Option<Cost>,
}

/// CPU time and context switches of one process over one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// CPU time in user mode, s.
    pub user_s: f64,
    /// CPU time in the kernel, s.
    pub system_s: f64,
    /// Voluntary context switches: how often it slept.
    pub voluntary_switches: u64,
    /// Involuntary context switches: how often it was preempted.
    pub involuntary_switches: u64,
}

impl From<Usage> for Cost {
    fn from(usage: Usage) -> Cost {
        Cost {
            user_s: usage.user_s,
            system_s: usage.system_s,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
        }
    }
}
