//! The Linux Trace Toolkit: whole workloads and the kernel's basic operations by LMbench, in four configurations, on
//! one CPU and on four. A dataset contains both sets of tests of one machine and configuration.

use serde::Deserialize;

use super::sheet::{self, Host, Key};
use super::{Dataset, Table};
use crate::schema::{Better, Placement, RowResult};

/// The kernel that the report patched.
const KERNEL: &str = "2.5.44";

/// The entry in the table of tables.
pub(super) const TABLE: Table = Table {
    name: "ltt",
    title: "Workloads and LMbench rows under the Linux Trace Toolkit",
    citation: "K. Yaghmour, \"LTT benchmarks and patch update\", linux-kernel list, 27 October 2002",
    date: "2002-10-27T00:00:00Z",
    what: "Both sets of tests on one CPU (up) and on four (smp4), in four configurations: A vanilla kernel, B patched and \
           tracing off, C tracing on and its daemon off, D the daemon writing everything. Set 1, of A, C and D: seconds \
           for building a kernel (compile), for bzip2 of its sources (compress) and for all of LMbench, of which one CPU has \
           only the last; they are a pattern of their own, workload. Set 2: rows of LMbench. The latencies of pipe, \
           AF_UNIX, UDP and TCP are round trips of one byte (UDP: four) and rows of pattern rtt; all other rows are pattern \
           lmbench, named and in units as printed.",
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

/// A line of set 1.
#[derive(Clone, Debug, Deserialize)]
struct WorkloadLine {
    configuration: String,
    workload: String,
    machine: String,
    seconds: f64,
}

fn read(table: &Table) -> Vec<Dataset> {
    let workloads: Vec<WorkloadLine> = sheet::lines(include_str!("../../data/published/workloads_tracing.csv"));
    let lines: Vec<Line> = sheet::lines(include_str!("../../data/published/lmbench_tracing.csv"));
    let groups = sheet::grouped(&lines, |line| (line.machine.clone(), line.configuration.clone()));
    groups
        .into_iter()
        .map(|((machine, configuration), lines)| {
            let (host, placement) = ltt_host(&machine);
            let own =
                workloads.iter().filter(|line| (&line.machine, &line.configuration) == (&machine, &configuration));
            let workloads = own.map(|line| workload(line, placement));
            let results = workloads.chain(lines.iter().map(|line| result(line, placement))).collect();
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
    // Bandwidths that share a name with a row of another group keep the group's name.
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

fn workload(line: &WorkloadLine, placement: Placement) -> RowResult {
    Key::new(&line.workload, "workload", placement).with(&[("elapsed", "s", Better::Lower, line.seconds)])
}

/// Returns one of the report's two machines.
fn ltt_host(machine: &str) -> (Host<'static>, Placement) {
    match machine {
        "up" => (Host { cpus: 1, kernel: KERNEL, ..Host::default() }, Placement::SameCpu),
        _ => (Host { cpus: 4, kernel: KERNEL, ..Host::default() }, Placement::Free),
    }
}

/// Describes machine and configuration.
fn about(machine: &str, configuration: &str) -> String {
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
