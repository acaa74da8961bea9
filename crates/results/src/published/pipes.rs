//! Pipes: Linux Fast-STREAMS, LiS and the kernel's own, on ten pairs of host and system.

use serde::Deserialize;

use super::sheet::{self, Host, Key};
use super::{Dataset, Table};
use crate::schema::Placement;

/// The entry in the table of tables.
pub(super) const TABLE: Table = Table {
    name: "pipes",
    title: "STREAMS pipes against the kernel's pipe and LiS",
    citation: "B. Bidulock, \"STREAMS-based vs. Legacy Pipe Performance Comparison\", OpenSS7, 26 July 2008",
    date: "2008-07-26T00:00:00Z",
    what: "Writes per second by write size, from 1 to 4096 bytes (cos52: to 8192), between two processes. Subjects: pipe \
           is the kernel's, streams-pipe that of Linux Fast-STREAMS, lis-pipe that of LiS. Writes per second are messages \
           per second of pattern stream. cos52 was run with the options hold, mread, full and readfill, which change what \
           is measured: it has a pattern of its own, perftest.",
    read,
};

#[derive(Clone, Debug, Deserialize)]
struct Line {
    dataset: String,
    host: String,
    os: String,
    kernel: String,
    arch: String,
    options: String,
    write_bytes: u64,
    mechanism: String,
    writes_per_s: f64,
}

fn read(table: &Table) -> Vec<Dataset> {
    let lines: Vec<Line> = sheet::lines(include_str!("../../data/published/pipes.csv"));
    let groups = sheet::grouped(&lines, |line| line.dataset.clone());
    groups.into_iter().map(|(name, lines)| dataset(table, &name, &lines)).collect()
}

fn dataset(table: &Table, name: &str, lines: &[Line]) -> Dataset {
    let first = &lines[0];
    let (host, placement) = openss7_host(&first.host, &first.arch, &first.kernel, &first.os);
    let results = lines.iter().map(|line| {
        let pattern = if line.options.is_empty() { "stream" } else { "perftest" };
        let variant = (!line.options.is_empty()).then(|| line.options.clone());
        let key = Key { variant, ..Key::new(subject(&line.mechanism), pattern, placement) };
        key.size(line.write_bytes).with(&[sheet::rate(line.writes_per_s)])
    });
    let about = format!("{} on {}, Linux {}, {}", first.os, first.host, first.kernel, first.arch);
    let about = if first.options.is_empty() { about } else { format!("{about}; options {}", first.options) };
    sheet::dataset(table, name, about, &host, 0.0, results.collect())
}

fn subject(mechanism: &str) -> &str {
    match mechanism {
        "linux" => "pipe",
        "streams" => "streams-pipe",
        "lis" => "lis-pipe",
        other => other,
    }
}

/// Returns a host of the two OpenSS7 reports with the placement of its processes: one CPU leaves no choice, and for
/// several the reports do not state it. `arch` is `i686 UP` or `x86_64 SMP`.
pub(super) fn openss7_host<'a>(
    name: &'a str,
    arch: &'a str,
    kernel: &'a str,
    system: &'a str,
) -> (Host<'a>, Placement) {
    let (architecture, processors) = arch.split_once(' ').unwrap_or((arch, ""));
    let cpu = match name {
        "porky" | "pumbah" => "2.57 GHz Pentium 4",
        "daisy" => "3.0 GHz Pentium 4 630, hyper-threading",
        "mspiggy" => "1.7 GHz Pentium 4",
        _ => "",
    };
    let (cpus, placement) = if processors == "UP" { (1, Placement::SameCpu) } else { (0, Placement::Free) };
    (Host { name, cpu, architecture, cpus, kernel, system }, placement)
}
