//! What the conductor of a launch and its workers say to each other: one JSON object per line.
//!
//! The workers that Headwater forks and the external programs of `--transport-cmd` speak the same lines, so that an
//! external transport is a row like any other. docs/external-transports.md is this file in prose.

use std::collections::BTreeMap;
use std::path::PathBuf;

use headwater_os_tools::usage::Usage;
use serde::{Deserialize, Serialize};

/// Version of the protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// Which part of a pattern a worker plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sends first; the client of a round trip.
    Sender,
    /// Receives first; the server of a round trip.
    Receiver,
    /// Both ends in one process.
    Both,
    /// One of several that do the same.
    Worker,
}

impl Role {
    /// As messages and counters name it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Sender => "sender",
            Role::Receiver => "receiver",
            Role::Both => "both",
            Role::Worker => "worker",
        }
    }
}

/// From the conductor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// Who are you? Answered by [`Reply::Description`]. External programs only.
    Describe,
    /// Make your end. Answered by [`Reply::Ready`], [`Reply::Skipped`] or [`Reply::Error`]. The receiver is asked
    /// first. External programs only: a forked worker has its end already.
    Prepare(Prepare),
    /// Do a round. Answered by [`Reply::Result`] or [`Reply::Error`].
    Run(Round),
    /// Clean up and exit with 0.
    Finish,
}

/// What an external end needs to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// Sender or receiver.
    pub role: Role,
    /// `stream` or `rtt`.
    pub pattern: String,
    /// Bytes per message.
    pub size: usize,
    /// A private directory for whatever needs a path; the harness removes it afterwards.
    pub directory: PathBuf,
    /// A name that no other launch on this machine has: letters, digits and `-`.
    pub token: String,
}

/// One round of messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Number of the first message.
    pub first: u64,
    /// Messages (or exchanges) per batch.
    pub batch: u64,
    /// Batches, without a pause between them.
    pub batches: u64,
    /// Compare every byte of every message instead of the stamps only.
    pub full_check: bool,
    /// Time every exchange of its own and answer with their histogram.
    pub histogram: bool,
}

impl Round {
    /// Messages in all.
    pub fn messages(&self) -> u64 {
        self.batch * self.batches
    }
}

/// From a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Reply {
    /// What the program is and what it can do.
    Description(Description),
    /// The end stands.
    Ready,
    /// The round is done.
    Result(Report),
    /// This cannot be run here.
    Skipped {
        /// Why, in words.
        reason: String,
    },
    /// Something broke.
    Error {
        /// What, in words.
        message: String,
    },
}

/// What an external program says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// Name of its rows: begins with a letter or digit, goes on with letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// Version of the library that it stands for.
    #[serde(default)]
    pub version: String,
    /// One line for `list`.
    #[serde(default)]
    pub summary: String,
    /// Patterns that it can do.
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
    /// `CLOCK_MONOTONIC` after each batch, ns; what it marks is the pattern's.
    #[serde(default)]
    pub stamps_ns: Vec<u64>,
    /// Durations of what is subtracted from each batch, ns; for operations whose definition subtracts something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtracted_ns: Vec<u64>,
    /// Pairs of (duration in ns, count), if a histogram was asked for.
    #[serde(default)]
    pub histogram: Vec<(u64, u64)>,
    /// Messages that came through, refusals, ...
    #[serde(default)]
    pub counters: BTreeMap<String, f64>,
    /// What the round cost this process; absent if the program does not say, which is not the same as nothing.
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
    /// Times it slept.
    pub voluntary_switches: u64,
    /// Times it was preempted.
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
