//! UDP: STREAMS TPI and STREAMS over sockets compared with sockets, by netperf, on seven pairs of host and system.

use serde::Deserialize;

use super::pipes::openss7_host;
use super::sheet::{self, Figure, Key};
use super::{Dataset, Table};
use crate::schema::Better;

/// The entry in the table of tables.
pub(super) const TABLE: Table = Table {
    name: "udp",
    title: "UDP over STREAMS against UDP over sockets",
    citation: "B. Bidulock, \"STREAMS vs. Sockets Performance Comparison for UDP\", OpenSS7, 16 June 2007, tables 1 to 7",
    date: "2007-06-16T00:00:00Z",
    what: "Messages sent and received in 10 s over loopback by message size, from 1 to 16384 bytes, by netperf. Subjects: \
           udp is sockets, xti-udp XTI over a STREAMS driver, xti-inet-udp XTI over sockets. A tenth of them is the rate per \
           second of pattern flood; loss is what was sent and not received, none where one more was received than sent.",
    read,
};

/// Seconds for which each figure was counted.
const SECONDS: f64 = 10.0;

#[derive(Clone, Debug, Deserialize)]
struct Line {
    table: String,
    host: String,
    os: String,
    kernel: String,
    arch: String,
    message_bytes: u64,
    mechanism: String,
    direction: String,
    messages_per_10s: f64,
}

fn read(table: &Table) -> Vec<Dataset> {
    let lines: Vec<Line> = sheet::lines(include_str!("../../data/published/udp.csv"));
    let groups = sheet::grouped(&lines, |line| line.table.clone());
    groups.into_iter().map(|(name, lines)| dataset(table, &name, &lines)).collect()
}

fn dataset(table: &Table, name: &str, lines: &[Line]) -> Dataset {
    let first = &lines[0];
    let (host, placement) = openss7_host(&first.host, &first.arch, &first.kernel, &first.os);
    let cells = sheet::grouped(lines, |line| (line.mechanism.clone(), line.message_bytes));
    let results = cells.into_iter().map(|((mechanism, size), lines)| {
        let key = Key::new(subject(&mechanism), "flood", placement).size(size);
        key.with(&figures(count(&lines, "tx"), count(&lines, "rx")))
    });
    let about = format!("{} on {}, Linux {}, {}", first.os, first.host, first.kernel, first.arch);
    sheet::dataset(table, name, about, &host, SECONDS, results.collect())
}

fn count(lines: &[Line], direction: &str) -> f64 {
    let found = lines.iter().find(|line| line.direction == direction);
    found.expect("every cell of the table has both directions").messages_per_10s
}

fn figures(sent: f64, received: f64) -> [Figure; 3] {
    [
        ("rx_rate", "messages/s", Better::Higher, received / SECONDS),
        ("tx_rate", "messages/s", Better::Higher, sent / SECONDS),
        ("loss", "ratio", Better::Lower, ((sent - received) / sent).max(0.0)),
    ]
}

fn subject(mechanism: &str) -> &str {
    match mechanism {
        "sockets" => "udp",
        "xti" => "xti-udp",
        "xtios" => "xti-inet-udp",
        other => other,
    }
}
