//! LMbench under the Linux Trace Toolkit: the kernel's basic operations in four configurations, on one CPU and on four.

use serde::Deserialize;

use super::sheet::{self, Host, Key};
use super::{Dataset, Table};
use crate::schema::{Better, Placement, RowResult};

/// In the table of tables.
pub(super) const TABLE: Table = Table {
    name: "ltt",
    title: "LMbench rows under the Linux Trace Toolkit",
    citation: "K. Yaghmour, \"LTT benchmarks and patch update\", 2002",
    date: "2002-01-01T00:00:00Z",
    what: "Rows of LMbench on one CPU (up) and on four (smp4), in four configurations: A vanilla kernel, B patched and tracing \
           off, C tracing on and its daemon off, D the daemon writing everything. The latencies of pipe, AF_UNIX, UDP \
           and TCP are round trips of one byte (UDP: four) and rows of pattern rtt; all other rows are pattern lmbench, \
           named and in units as printed.",
    read,
};

#[derive(Clone, Debug, Deserialize)]
struct Line {
    machine: String,
    configuration: String,
    group: String,
    row: String,
    value: f64,
    unit: String,
}

fn read(table: &Table) -> Vec<Dataset> {
    let lines: Vec<Line> = sheet::lines(include_str!("../../data/published/lmbench_tracing.csv"));
    let groups = sheet::grouped(&lines, |line| (line.machine.clone(), line.configuration.clone()));
    groups
        .into_iter()
        .map(|((machine, configuration), lines)| {
            let (host, placement) = ltt_host(&machine);
            let results = lines.iter().map(|line| result(line, placement)).collect();
            let name = format!("{machine}-{}", configuration.to_lowercase());
            sheet::dataset(table, &name, about(&machine, &configuration), &host, 0.0, results)
        })
        .collect()
}

fn result(line: &Line, placement: Placement) -> RowResult {
    let round_trip = match (line.group.as_str(), line.row.as_str()) {
        ("local_latency", "pipe") => Some(("pipe", 1)),
        ("local_latency", "af_unix") => Some(("unix-stream", 1)),
        ("local_latency", "udp") => Some(("udp", 4)),
        ("local_latency", "tcp") => Some(("tcp", 1)),
        _ => None,
    };
    if let Some((subject, size)) = round_trip {
        return Key::new(subject, "rtt", placement).size(size).with(&[sheet::rtt_us(line.value)]);
    }
    // Of the rows that share a name with another group, bandwidths keep the group's.
    let name = line.row.replace('_', "-");
    let subject = if line.group == "local_bandwidth" && ["pipe", "af-unix", "tcp"].contains(&name.as_str()) {
        format!("{name}-bandwidth")
    } else {
        name
    };
    let (metric, unit, better) = match line.unit.as_str() {
        "us" => ("elapsed", "us", Better::Lower),
        "ns" => ("elapsed", "ns", Better::Lower),
        "mhz" => ("clock", "MHz", Better::Higher),
        _ => ("bandwidth", "MB/s", Better::Higher),
    };
    Key::new(&subject, "lmbench", placement).with(&[(metric, unit, better, line.value)])
}

/// The report's two machines.
pub(super) fn ltt_host(machine: &str) -> (Host<'static>, Placement) {
    match machine {
        "up" => (Host { cpus: 1, ..Host::default() }, Placement::SameCpu),
        _ => (Host { cpus: 4, ..Host::default() }, Placement::Free),
    }
}

/// Machine and configuration in words.
pub(super) fn about(machine: &str, configuration: &str) -> String {
    let machine = if machine == "up" { "1 CPU" } else { "4 CPUs" };
    let configuration = match configuration {
        "A" => "A: vanilla kernel",
        "B" => "B: patched, tracing off",
        "C" => "C: tracing on, daemon off",
        "D" => "D: tracing on, daemon writing everything",
        other => other,
    };
    format!("{machine}; {configuration}")
}
