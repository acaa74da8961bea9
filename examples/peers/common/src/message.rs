//! The messages of the protocol, version 1, one JSON object per line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Description;

/// What Headwater asks.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// Who are you?
    Describe,
    /// Open your end.
    Prepare(Order),
    /// Do a round.
    Run(Round),
    /// Clean up and exit.
    Finish,
}

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sends first.
    Sender,
    /// Receives first.
    Receiver,
}

/// What is done with the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One way.
    Stream,
    /// Forth and back.
    Rtt,
}

/// The order to open an end.
#[derive(Clone, Debug, Deserialize)]
pub struct Order {
    /// Which end.
    pub role: Role,
    /// What for.
    pub pattern: Pattern,
    /// Bytes per message.
    pub size: usize,
    /// For what needs a path.
    pub directory: PathBuf,
    /// A name that no other launch has.
    pub token: String,
}

/// One round.
#[derive(Debug, Deserialize)]
pub struct Round {
    /// Number of the first message.
    pub first: u64,
    /// Messages per batch.
    pub batch: u64,
    /// Batches.
    pub batches: u64,
    /// Compare every byte.
    pub full_check: bool,
    /// Time every exchange.
    pub histogram: bool,
}

/// The answers.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Reply {
    /// To describe.
    Description {
        /// Version of the protocol.
        protocol: u32,
        /// What it can do.
        patterns: &'static [&'static str],
        /// The rest.
        #[serde(flatten)]
        description: Description,
    },
    /// To prepare.
    Ready,
    /// To run.
    Result(Report),
    /// It cannot be done here.
    Skipped {
        /// Why.
        reason: String,
    },
    /// It broke.
    Error {
        /// How.
        message: String,
    },
}

/// What a round gave.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Before the first message, ns.
    pub start_ns: u64,
    /// After the last, ns.
    pub end_ns: u64,
    /// After each batch, ns.
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
    /// Times that it slept.
    pub voluntary_switches: i64,
    /// Times that it was preempted.
    pub involuntary_switches: i64,
}
