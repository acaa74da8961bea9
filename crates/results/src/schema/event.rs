//! The lines of `run.jsonl`, in the order in which they happen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Environment, Placement, Row};
use crate::estimate::median;
use crate::origin::identity;

/// One line of `run.jsonl`, and of `headwater run --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first line: the plan of the run.
    RunStarted(Box<RunHeader>),
    /// A row that this machine cannot run.
    RowSkipped {
        /// The row.
        row: Row,
        /// The reason, in words.
        reason: String,
    },
    /// One launch of one row, complete.
    LaunchFinished(Box<LaunchRecord>),
    /// One launch that ended in an error: a dead or stuck peer, a wrong payload.
    LaunchFailed {
        /// The row's id.
        row: String,
        /// The block of the launch.
        block: u32,
        /// What happened, in words.
        reason: String,
    },
    /// A run was continued after an interruption, or to add launches.
    RunResumed {
        /// Wall clock, RFC 3339.
        at: String,
        /// The number of launches per row from now on, without a budget; absent if it has not changed.
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

/// The plan of a run.
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
    /// The command line that reproduces it, including the seed.
    pub command: Vec<String>,
    /// The program that measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// The programs of variants that differ from the one that measured, by variant.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variant_programs: BTreeMap<String, Program>,
    /// What the user said of the run (`run --label commit=1a2b3c`), by name. A history orders runs by a label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The settings.
    pub settings: Settings,
    /// The measured rows, in the order of the tables. Not in `run.json`, where the results contain them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
    /// The environment before.
    pub environment: Environment,
    /// Cost of one clock read, ns.
    pub clock_read_ns: f64,
    /// Smallest step of the clock that was seen, ns.
    pub clock_resolution_ns: f64,
}

impl RunHeader {
    /// Returns what tells the run from all others, whatever it is called: hosts of one name may begin a run in the same second,
    /// and are told apart by their machines and labels.
    pub fn identity(&self) -> String {
        identity(&self.run_id, &self.started_at, self.environment.machine.as_deref(), &self.labels)
    }

    /// Returns the program that measured: its version, and the beginning of its fingerprint if that is known.
    pub fn program_name(&self) -> String {
        let fingerprint = self.program.iter().flat_map(|program| program.fingerprint.chars().take(8));
        let words = format!("{} {}", self.headwater_version, fingerprint.collect::<String>());
        words.trim_end().to_owned()
    }
}

/// A program file. `run --against` uses it to start the program again, and to notice that it has been replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// Its path.
    pub path: String,
    /// FNV-1a of its bytes, 64 bits in hexadecimal.
    pub fingerprint: String,
}

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// The requested suites and filters.
    pub selection: Vec<String>,
    /// Launches per row, one in each block; 0 means as many as fit `budget_s`.
    pub launches: u32,
    /// Measured time per launch, seconds.
    pub time_s: f64,
    /// Minimum warm-up per launch, seconds.
    pub warm_up_s: f64,
    /// The time limit of the whole run, seconds; blocks that would not fit are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Seed of the order within blocks.
    pub seed: u64,
    /// The placements.
    pub placements: Vec<Placement>,
    /// Command lines of the external transports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transport_commands: Vec<String>,
    /// The variants under which every row is measured, block by block; each is `NAME=[KEY=VALUE ...] [COMMAND [ARG
    /// ...]]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
}

/// The measurements of one launch of one row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct LaunchRecord {
    /// The row's id.
    pub row: String,
    /// The block, from 0. A block contains each row once.
    pub block: u32,
    /// Position within its block, from 0.
    pub position: u32,
    /// Its start, in seconds after the start of the run.
    pub started_s: f64,
    /// Its duration with all preparation, in seconds.
    pub elapsed_s: f64,
    /// Samples by metric: one per timed batch, in the metric's unit.
    pub series: BTreeMap<String, Vec<f64>>,
    /// The launch's figure by metric, in its unit, where it is not the median of the batches: a rate is the number of messages
    /// over the time from the first send to the last receive.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// Individual durations by metric, in ns: pairs of (highest equivalent value, count) of an HDR histogram.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<String, Vec<(u64, u64)>>,
    /// Operations per timed batch.
    pub batch_operations: u64,
    /// Time spent warming up, seconds.
    pub warm_up_s: f64,
    /// Whether the last warm-up batches showed no slope.
    pub steady: bool,
    /// Costs and event counts of the measured part: `sender_user_s`, `sender_system_s`, `sender_voluntary_switches`,
    /// `sender_involuntary_switches`, the same for `receiver_`, `lost`, `enobufs`, ...
    pub counters: BTreeMap<String, f64>,
    /// Share of the machine's CPU time stolen by the hypervisor during the launch, 0..1.
    pub steal: f64,
    /// Share of the machine's CPU time used by processes outside the run during the launch, 0..1.
    pub foreign_load: f64,
}

/// Returns the figure of a launch for a metric: the one that it states, such as the rate of a whole volume, or the median of its
/// batches.
pub fn launch_figure(stated: &BTreeMap<String, f64>, series: &BTreeMap<String, Vec<f64>>, metric: &str) -> Option<f64> {
    let stated = stated.get(metric).copied().filter(|figure| figure.is_finite());
    stated.or_else(|| median(series.get(metric)?))
}

impl LaunchRecord {
    /// Returns the launch's figure of a metric: the one that it states, or the median of its batches.
    pub fn figure(&self, metric: &str) -> Option<f64> {
        launch_figure(&self.figures, &self.series, metric)
    }
}
