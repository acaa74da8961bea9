//! The stored form of a run: the lines of `run.jsonl` ([`Event`]) and the document `run.json` ([`Run`]).
//!
//! Every type here is serialised as it is declared, so every change of a field is a change of [`SCHEMA_VERSION`].
//! Numbers are finite: values that could not be computed are absent, never NaN. `validate` says what else a run fulfils.

mod environment;
mod event;
mod row;
mod run;
mod validate;

pub use environment::{Cpu, Environment, Fact, Kernel, Limits, Load, Memory};
pub use event::{Event, LaunchRecord, Program, RunHeader, RunStatus, Settings, launch_figure};
pub(crate) use row::published_definition;
pub use row::{
    Better, LMBENCH_VALUE, Metric, Placement, RATE_DEFINITION, Row, Standing, WorkerKind, lmbench_definition,
    transport_definition,
};
pub use run::{MetricResult, Percentile, RowOutcome, RowResult, Run};
pub(crate) use validate::oversized;

/// The version of everything in this module. Readers refuse a newer version.
pub const SCHEMA_VERSION: u32 = 3;
