//! The messages of the protocol, version 1, one JSON object per line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Description;

/// A request of Headwater.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// Describe the program.
    Describe,
    /// Open an end.
    Prepare(Order),
    /// Run a round.
    Run(Round),
    /// Clean up and exit.
    Finish,
}

/// The role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sends first.
    Sender,
    /// Receives first.
    Receiver,
}

/// The pattern of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Messages in one direction.
    Stream,
    /// A message and its answer.
    Rtt,
}

/// The parameters for opening an end.
#[derive(Clone, Debug, Deserialize)]
pub struct Order {
    /// The role of the end.
    pub role: Role,
    /// The pattern.
    pub pattern: Pattern,
    /// Bytes per message.
    pub size: usize,
    /// A directory for objects that need a path.
    pub directory: PathBuf,
    /// A name that is unique to the launch.
    pub token: String,
}

/// One round.
#[derive(Debug, Deserialize)]
pub struct Round {
    /// Number of the first message.
    pub first: u64,
    /// Messages per batch.
    pub batch: u64,
    /// Number of batches.
    pub batches: u64,
    /// Whether to compare every byte.
    pub full_check: bool,
    /// Whether to time every exchange.
    pub histogram: bool,
}

/// A reply.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Reply {
    /// Reply to `describe`.
    Description {
        /// Version of the protocol.
        protocol: u32,
        /// The supported patterns.
        patterns: &'static [&'static str],
        /// The other facts.
        #[serde(flatten)]
        description: Description,
    },
    /// Reply to `prepare`.
    Ready,
    /// Reply to `run`.
    Result(Report),
    /// The machine does not support it.
    Skipped {
        /// The reason.
        reason: String,
    },
    /// It failed.
    Error {
        /// The error.
        message: String,
    },
}

/// The result of a round.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Time before the first message, ns.
    pub start_ns: u64,
    /// Time after the last message, ns.
    pub end_ns: u64,
    /// Times after each batch, ns.
    pub stamps_ns: Vec<u64>,
    /// Pairs of (duration in ns, count).
    pub histogram: Vec<(u64, u64)>,
    /// CPU time and context switches of this process.
    pub cost: Cost,
}

/// CPU time and context switches.
#[derive(Debug, Default, Serialize)]
pub struct Cost {
    /// CPU time in user mode, s.
    pub user_s: f64,
    /// CPU time in the kernel, s.
    pub system_s: f64,
    /// Number of times that it slept.
    pub voluntary_switches: i64,
    /// Number of times that it was preempted.
    pub involuntary_switches: i64,
}
