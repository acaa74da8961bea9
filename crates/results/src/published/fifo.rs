//! FIFOs of FreeBSD: the new one over a pipe, the old one over a socket.

use serde::Deserialize;

use super::sheet::{self, Host, Key};
use super::{Dataset, Table};
use crate::schema::{Better, Placement};

/// The entry in the table of tables.
pub(super) const TABLE: Table = Table {
    name: "fifo",
    title: "FreeBSD's FIFO over a pipe against its FIFO over a socket",
    citation: "Zhao Shuai, \"FIFO Optimization status 4\", FreeBSD soc-status list, 2009",
    date: "2009-01-01T00:00:00Z",
    what: "Elapsed us for 100 to 100,000 messages of 64 to 4096 bytes, each the mean of 100 runs. Subjects: fifo is the new \
           one over a pipe, fifo-socket the old one over a socket. The definition is that of pattern matrix.",
    read,
};

#[derive(Clone, Debug, Deserialize)]
struct Line {
    implementation: String,
    message_bytes: u64,
    messages: u64,
    elapsed_us: f64,
}

fn read(table: &Table) -> Vec<Dataset> {
    let lines: Vec<Line> = sheet::lines(include_str!("../../data/published/fifo.csv"));
    let results = lines.iter().map(|line| {
        let subject = if line.implementation == "pipe" { "fifo" } else { "fifo-socket" };
        let key = Key::new(subject, "matrix", Placement::Free).size(line.message_bytes);
        let key = Key { messages: Some(line.messages), ..key };
        key.with(&[("elapsed", "us", Better::Lower, line.elapsed_us)])
    });
    // According to the author's note of 23 July 2009 on blogs.freebsdish.org/zhaoshuai.
    let host = Host { cpu: "Intel Core 2 Quad 9400", cpus: 4, system: "FreeBSD 8.0-CURRENT", ..Host::default() };
    vec![sheet::dataset(
        table,
        "freebsd",
        "FreeBSD 8.0-CURRENT, Intel Core 2 Quad 9400".to_owned(),
        &host,
        0.0,
        results.collect(),
    )]
}
