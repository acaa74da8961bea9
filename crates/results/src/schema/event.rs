//! The lines of `run.jsonl`, in the order in which they happen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Environment, Placement, Row};

/// One line of `run.jsonl`, and of `headwater run --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first line: what is going to be measured.
    RunStarted(Box<RunHeader>),
    /// A row that this machine cannot run.
    RowSkipped {
        /// The row.
        row: Row,
        /// Why, in words.
        reason: String,
    },
    /// One launch of one row, complete.
    LaunchFinished(Box<LaunchRecord>),
    /// One launch that ended in an error: a dead or stuck peer, a wrong payload.
    LaunchFailed {
        /// The row's id.
        row: String,
        /// The block it belonged to.
        block: u32,
        /// What happened, in words.
        reason: String,
    },
    /// A run was taken up again, after an interruption or because more launches are wanted.
    RunResumed {
        /// Wall clock, RFC 3339.
        at: String,
        /// Launches per row that are wanted from now on, without a budget; absent where they are those of before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        launches: Option<u32>,
    },
    /// The last line.
    RunFinished {
        /// How it ended.
        status: RunStatus,
        /// The environment afterwards.
        environment: Box<Environment>,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Every row has all its launches, or a reason.
    Complete,
    /// Some launches failed.
    Partial,
    /// Stopped by a signal; `--resume` continues it.
    Interrupted,
}

/// What a run set out to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct RunHeader {
    /// [`super::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Version of the program that wrote it.
    pub headwater_version: String,
    /// `<UTC time>-<host>`, the name of the run's directory.
    pub run_id: String,
    /// Wall clock at the start, RFC 3339.
    pub started_at: String,
    /// The command line that reproduces it, the seed included.
    pub command: Vec<String>,
    /// The program that measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// The programs of variants that are not the one that measured, by variant.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variant_programs: BTreeMap<String, Program>,
    /// How it measures.
    pub settings: Settings,
    /// The rows that are measured, in the order of the tables. Not in `run.json`, whose results have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
    /// The environment before.
    pub environment: Environment,
    /// Cost of one clock read, ns.
    pub clock_read_ns: f64,
    /// Smallest step of the clock that was seen, ns.
    pub clock_resolution_ns: f64,
}

/// A program file, so that `run --against` can start it again and knows when it has been replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// Where it was.
    pub path: String,
    /// FNV-1a of its bytes, 64 bits in hexadecimal.
    pub fingerprint: String,
}

/// How a run measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// The suites and filters asked for.
    pub selection: Vec<String>,
    /// Launches per row, one in each block; 0: as many as `budget_s` has room for.
    pub launches: u32,
    /// Measured time per launch, seconds.
    pub time_s: f64,
    /// Least warm-up per launch, seconds.
    pub warm_up_s: f64,
    /// The most a whole run may take, seconds; blocks that would not fit are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Seed of the order within blocks.
    pub seed: u64,
    /// The placements.
    pub placements: Vec<Placement>,
    /// Command lines of the external transports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transport_commands: Vec<String>,
    /// What every row is measured under, block by block: `NAME=[KEY=VALUE ...] [COMMAND [ARG ...]]` each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
}

/// What one launch of one row measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct LaunchRecord {
    /// The row's id.
    pub row: String,
    /// The block, from 0. A block holds each row once.
    pub block: u32,
    /// Position within its block, from 0.
    pub position: u32,
    /// When it started, seconds after the start of the run.
    pub started_s: f64,
    /// How long it took with all its preparation, seconds.
    pub elapsed_s: f64,
    /// Samples by metric: one per timed batch, in the metric's unit.
    pub series: BTreeMap<String, Vec<f64>>,
    /// Individual durations by metric, in ns: pairs of (highest equivalent value, count) of an HDR histogram.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<String, Vec<(u64, u64)>>,
    /// Operations per timed batch.
    pub batch_operations: u64,
    /// Time spent warming up, seconds.
    pub warm_up_s: f64,
    /// Whether the last warm-up batches showed no slope.
    pub steady: bool,
    /// What it cost, and what was counted, over the measured part: `sender_user_s`, `sender_system_s`,
    /// `sender_voluntary_switches`, `sender_involuntary_switches`, the same for `receiver_`, `lost`, `enobufs`, ...
    pub counters: BTreeMap<String, f64>,
    /// Share of the machine's CPU time stolen by the hypervisor during the launch, 0..1.
    pub steal: f64,
    /// Share of the machine's CPU time that went to processes outside the run during the launch, 0..1.
    pub foreign_load: f64,
}
