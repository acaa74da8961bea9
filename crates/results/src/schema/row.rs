//! A row: one configuration that is measured, and the metrics that it yields.

use serde::{Deserialize, Serialize};

/// Where the processes of a row run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// All on one CPU.
    SameCpu,
    /// Each on a CPU of its own, as far as there are CPUs (the second shares none with the first).
    TwoCpus,
    /// Where the scheduler puts them.
    Free,
}

impl Placement {
    /// The name used in row ids, options and files.
    pub fn name(self) -> &'static str {
        match self {
            Placement::SameCpu => "same-cpu",
            Placement::TwoCpus => "two-cpus",
            Placement::Free => "free",
        }
    }
}

/// What a row stands for in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Something a program could use.
    Candidate,
    /// What the hardware allows: a bare ring in shared memory.
    Limit,
    /// The harness's own cost: a transport that moves nothing.
    Null,
    /// A program of someone else's that speaks the external protocol.
    External,
}

/// What kind of worker shares a counter in the `sync` facility.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorkerKind {
    /// Processes that share memory.
    Process,
    /// Threads of one process.
    Thread,
}

impl WorkerKind {
    /// The name used in row ids and tables.
    pub fn name(self) -> &'static str {
        match self {
            WorkerKind::Process => "process",
            WorkerKind::Thread => "thread",
        }
    }
}

/// One configuration: what is measured, how, and with which parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// `subject/pattern/parameters/placement`, unique in a run: `pipe/stream/4096/two-cpus`.
    pub id: String,
    /// The transport, primitive or operation: `pipe`, `mutex`.
    pub subject: String,
    /// The pattern or facility: `stream`, `rtt`, `sync`.
    pub pattern: String,
    /// Version of the pattern's definition. Rows of different versions are not comparable.
    pub definition_version: u32,
    /// Candidate, limit, null or external.
    pub standing: Standing,
    /// Where its processes run.
    pub placement: Placement,
    /// Bytes per message, where the row has messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Messages per repetition, where the row fixes them (`fifo matrix`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// How many workers share the counter (`sync`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Processes or threads (`sync`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_kind: Option<WorkerKind>,
    /// The named policy under which the subject runs, where it has several; it is a part of the subject's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The variant that its launches ran under, where a run interleaves several (`run --variant`, `run --against`); the
    /// last part of the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// What it yields; the first is the row's own figure.
    pub metrics: Vec<Metric>,
}

/// The metric that holds the figure by the rule of lmbench, beside the row's own: of a launch the median of 11 batches, or of
/// memory the best of them.
pub const LMBENCH_VALUE: &str = "lmbench_value";

/// The rows of facility `lmbench` whose definition has changed, and its version; a name that ends in `-` stands for all that
/// begin with it. Results of the original program, published and imported, have these versions too: a definition changes
/// to become the original's.
const LMBENCH_REVISED: &[(&str, u32)] = &[
    ("stat", 2),
    ("fstat", 2),
    ("signal-install", 2),
    ("ctxsw-", 3),
    ("tcp-connect", 2),
    ("create-", 2),
    ("delete-", 2),
    ("mmap-latency", 2),
    ("prot-fault", 2),
    ("page-fault", 2),
    ("tcp-bandwidth", 2),
    ("file-reread", 3),
    ("file-open-close", 3),
    ("mmap-reread", 3),
    ("mmap-open-close", 3),
    ("bcopy-libc", 3),
    ("bcopy-hand", 3),
    ("aligned-bcopy-libc", 3),
    ("partial-bcopy-hand", 3),
    ("memory-read", 2),
    ("memory-write", 2),
    ("partial-mmap-", 2),
    ("bzero-copy", 3),
    ("l1-cache", 2),
    ("l2-cache", 2),
    ("main-memory", 2),
];

/// The version of the definition of a row of facility `lmbench`.
pub fn lmbench_definition(subject: &str) -> u32 {
    let is_meant = |name: &str| if name.ends_with('-') { subject.starts_with(name) } else { subject == name };
    LMBENCH_REVISED.iter().find(|(name, _)| is_meant(name)).map_or(1, |&(_, version)| version)
}

/// Which direction is an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// A larger value is better (rates).
    Higher,
    /// A smaller value is better (durations, loss).
    Lower,
}

impl Better {
    /// The name used in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
        }
    }
}

/// A quantity that a row yields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Metric {
    /// `rate`, `rtt`, `one_way`, `rx_rate`, `tx_rate`, `loss`, `elapsed`, ...
    pub name: String,
    /// `messages/s`, `ns`, `us`, `ratio`.
    pub unit: String,
    /// Which direction is an improvement.
    pub better: Better,
}
