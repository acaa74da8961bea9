//! The rows of `headwater overhead`: `compile/workload/free/flight`, and those of the probe and of LMbench.

use headwater_gauge::plan::rows::{Pattern, plain};
use headwater_gauge::plan::variants::{Variant, of_row};
use headwater_results::overhead::{PROBE, WORKLOAD};
use headwater_results::schema::{Better, Metric, Placement, Row, Standing};

use super::arms::{Arm, Probe};
use super::workloads::{Workload, lmbench_rows};

/// Raised whenever the timed part changes.
const DEFINITION_VERSION: u32 = 2;

/// Returns the row of a workload under a configuration.
pub fn of_workload(workload: &Workload, arm: &Arm) -> Row {
    let metrics = [("elapsed", "s"), ("cpu", "s")];
    under(row(&workload.name, WORKLOAD, Standing::Candidate, &metrics), arm)
}

/// Returns the row of a probe under a configuration.
pub fn of_probe(probe: Probe, arm: &Arm) -> Row {
    under(row(probe.subject(), PROBE, Standing::Null, &[("elapsed", "ns")]), arm)
}

/// Returns all rows of a workload under a configuration: its own, and those of the run that it makes.
pub fn all(workload: &Workload, arm: &Arm) -> Vec<Row> {
    let inner = if workload.run.is_some() { lmbench_rows(&workload.name) } else { Vec::new() };
    std::iter::once(of_workload(workload, arm)).chain(inner.into_iter().map(|row| under(row, arm))).collect()
}

/// Returns a row with the configuration as its variant.
pub fn under(row: Row, arm: &Arm) -> Row {
    of_row(&row, &Variant { name: arm.name.to_owned(), ..Variant::default() })
}

fn row(subject: &str, pattern: &'static str, standing: Standing, metrics: &[(&str, &str)]) -> Row {
    let metric =
        |&(name, unit): &(&str, &str)| Metric { name: name.to_owned(), unit: unit.to_owned(), better: Better::Lower };
    let of = Pattern { name: pattern, definition_version: DEFINITION_VERSION };
    plain(subject, standing, of, Placement::Free, metrics.iter().map(metric).collect())
}
