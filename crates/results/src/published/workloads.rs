//! Whole workloads under the Linux Trace Toolkit.

use serde::Deserialize;

use super::ltt::{about, ltt_host};
use super::sheet::{self, Key};
use super::{Dataset, Table, ltt};
use crate::schema::Better;

/// In the table of tables.
pub(super) const TABLE: Table = Table {
    name: "workloads",
    title: "Workloads under the Linux Trace Toolkit",
    citation: ltt::TABLE.citation,
    date: ltt::TABLE.date,
    what: "Seconds for compiling, compressing and a run of LMbench, in the configurations A, C and D of table ltt; the report \
           has no figures for B, and for one CPU only LMbench. They are a pattern of their own, workload.",
    read,
};

#[derive(Clone, Debug, Deserialize)]
struct Line {
    configuration: String,
    workload: String,
    machine: String,
    seconds: f64,
}

fn read(table: &Table) -> Vec<Dataset> {
    let lines: Vec<Line> = sheet::lines(include_str!("../../data/published/workloads_tracing.csv"));
    let groups = sheet::grouped(&lines, |line| (line.machine.clone(), line.configuration.clone()));
    groups
        .into_iter()
        .map(|((machine, configuration), lines)| {
            let (host, placement) = ltt_host(&machine);
            let results = lines.iter().map(|line| {
                let key = Key::new(&line.workload, "workload", placement);
                key.with(&[("elapsed", "s", Better::Lower, line.seconds)])
            });
            let name = format!("{machine}-{}", configuration.to_lowercase());
            sheet::dataset(table, &name, about(&machine, &configuration), &host, 0.0, results.collect())
        })
        .collect()
}
