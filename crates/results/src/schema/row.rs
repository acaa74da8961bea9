//! A row: one measured configuration, and its metrics.

use serde::{Deserialize, Serialize};

/// The placement of the processes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// All on one CPU.
    SameCpu,
    /// Each on a CPU of its own, as far as there are CPUs (the second one does not share the first one's).
    TwoCpus,
    /// Chosen by the scheduler.
    Free,
}

impl Placement {
    /// Returns the name in row ids, options and files.
    pub fn name(self) -> &'static str {
        match self {
            Placement::SameCpu => "same-cpu",
            Placement::TwoCpus => "two-cpus",
            Placement::Free => "free",
        }
    }
}

/// The role of a row in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A mechanism that a program could use.
    Candidate,
    /// What the hardware permits: a plain ring in shared memory.
    Limit,
    /// The harness's own cost: a transport that moves nothing.
    Null,
    /// A program outside Headwater that speaks the external protocol.
    External,
}

/// The kind of workers that share a counter in the `sync` facility.
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
    /// Returns the name in row ids and tables.
    pub fn name(self) -> &'static str {
        match self {
            WorkerKind::Process => "process",
            WorkerKind::Thread => "thread",
        }
    }
}

/// One measured configuration: subject, pattern and parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// `subject/pattern/parameters/placement`, unique in a run: `pipe/stream/4096/two-cpus`.
    pub id: String,
    /// The transport, primitive or operation: `pipe`, `mutex`.
    pub subject: String,
    /// The pattern or facility: `stream`, `rtt`, `sync`.
    pub pattern: String,
    /// Version of the definition: that of the pattern or operation, and of the transport's calls. Rows of different versions are not
    /// comparable.
    pub definition_version: u32,
    /// Candidate, limit, null or external.
    pub standing: Standing,
    /// The placement of its processes.
    pub placement: Placement,
    /// Bytes per message, if the row has messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Messages per repetition, if the row has a fixed number (`fifo matrix`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Number of workers that share the counter (`sync`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Processes or threads (`sync`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_kind: Option<WorkerKind>,
    /// The policy of the subject, if it has several; it is a part of the subject's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The variant of its launches, if a run interleaves several (`run --variant`, `run --against`); the last part of
    /// the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The metrics; the first is the row's own figure.
    pub metrics: Vec<Metric>,
}

/// The metric with the figure by LMbench's rule, beside the row's own: for a launch the median of 11 batches, or for
/// memory the best of them.
pub const LMBENCH_VALUE: &str = "lmbench_value";

/// The rows of facility `lmbench` whose definition has changed, and its version; a name that ends in `-` is a prefix.
/// Results of the original program, published and imported, have these versions too, because definitions were changed
/// to become the original's.
const LMBENCH_REVISED: &[(&str, u32)] = &[
    ("null-call", 2),
    ("null-io", 2),
    ("stat", 3),
    ("fstat", 3),
    ("open-close", 2),
    ("signal-install", 2),
    ("signal-handle", 2),
    ("ctxsw-", 3),
    ("tcp-connect", 2),
    ("create-", 3),
    ("delete-", 3),
    ("mmap-latency", 2),
    ("prot-fault", 3),
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
    ("memory-write", 3),
    ("partial-mmap-", 2),
    ("bzero-copy", 3),
    ("l1-cache", 3),
    ("l2-cache", 3),
    ("main-memory", 3),
    ("main-memory-random", 2),
];

/// Returns the version of the definition of a row of facility `lmbench`.
pub fn lmbench_definition(subject: &str) -> u32 {
    let is_meant = |name: &str| if name.ends_with('-') { subject.starts_with(name) } else { subject == name };
    LMBENCH_REVISED.iter().find(|(name, _)| is_meant(name)).map_or(1, |&(_, version)| version)
}

/// The beginnings of the names of the runtimes' transports.
const RUNTIME_PREFIXES: [&str; 3] = ["streams-", "xti-", "lis-"];

impl Row {
    /// Returns whether the mechanism is a STREAMS or XTI library above the kernel: Headwater's runtime, or another one in a
    /// published table.
    pub fn is_of_runtime(&self) -> bool {
        RUNTIME_PREFIXES.iter().any(|prefix| self.subject.starts_with(prefix))
    }

    /// Returns the version of the definition without the revisions of the transport. Rows can be compared if it is equal:
    /// of one transport, their versions then are, and of two transports each calls the system in its own way.
    pub fn pattern_definition(&self) -> u32 {
        let is_of_transport = self.size_bytes.is_some() && self.standing != Standing::External;
        let revisions = if is_of_transport { transport_definition(0, &self.subject) } else { 0 };
        self.definition_version.saturating_sub(revisions)
    }
}

/// The version of the definition of one-way rates: messages over the time from the first send to the last receive. Version 1 took
/// the median of the receiver's batches, which over a transport with large buffers is the speed of draining them.
pub const RATE_DEFINITION: u32 = 2;

/// The transports of the kernel whose timed calls were made by an instruction in the loop at first, and are made by functions of
/// the C library now, as by most programs. The others have always called the C library, or make no call of the program's.
const TRANSPORTS_REVISED: [&str; 14] = [
    "pipe",
    "pipe-1m",
    "fifo",
    "fifo-socket",
    "unix-stream",
    "unix-dgram",
    "unix-seqpacket",
    "tcp",
    "tcp-nagle",
    "udp",
    "udp-mmsg",
    "udp-gso",
    "udp-unconnected",
    "pty",
];

/// Returns the version of the definition of a row of a transport: that of its pattern, and one more for each revision of the
/// transport.
pub fn transport_definition(of_pattern: u32, transport: &str) -> u32 {
    of_pattern + u32::from(TRANSPORTS_REVISED.contains(&transport))
}

/// Returns the version of the definition of a row with published figures. Those of transports are of programs in C, which call
/// the C library.
pub(crate) fn published_definition(pattern: &str, subject: &str) -> u32 {
    match pattern {
        "lmbench" => lmbench_definition(subject),
        "stream" | "stream-full" | "perftest" | "pairs-stream" => transport_definition(RATE_DEFINITION, subject),
        _ => transport_definition(1, subject),
    }
}

/// The direction of an improvement.
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
    /// Returns the name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
        }
    }
}

/// A quantity that a row measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Metric {
    /// `rate`, `rtt`, `one_way`, `rx_rate`, `tx_rate`, `loss`, `elapsed`, ...
    pub name: String,
    /// `messages/s`, `ns`, `us`, `ratio`.
    pub unit: String,
    /// The direction of an improvement.
    pub better: Better,
}
