//! IPC after UNPv2: bandwidth by message size, and the exchange of one byte.

use serde::Deserialize;

use super::sheet::{self, Host, Key};
use super::{Dataset, Table};
use crate::schema::Placement;

/// The entry in the table of tables.
pub(super) const TABLE: Table = Table {
    name: "ipc",
    title: "IPC mechanisms of Linux: bandwidth and round trip",
    citation: "\"Linux IPC performance test\", 2014, after W. R. Stevens, UNIX Network Programming, volume 2, appendix A",
    date: "2014-01-01T00:00:00Z",
    what: "MB/s (10^6 bytes) with messages of 1 to 64 KiB: divided by the size it is the rate of pattern stream. The latency \
           is the exchange of one byte, so the time of pattern rtt. UDP's bandwidth is about the size over the time of an \
           exchange, as if each message had been acknowledged: the rate of pattern acknowledged. Whether unix is a stream or a datagram socket is not said.",
    read,
};

#[derive(Clone, Debug, Deserialize)]
struct Bandwidth {
    message_bytes: u64,
    mechanism: String,
    mb_per_s: f64,
}

#[derive(Clone, Debug, Deserialize)]
struct Latency {
    mechanism: String,
    latency_us: f64,
}

/// The host of both of the report's tables.
pub(super) const HOST: Host<'static> =
    Host { name: "", cpu: "dual core, 2.3 GHz", architecture: "", cpus: 2, kernel: "", system: "Fedora 20" };

/// The description of that host.
pub(super) const ABOUT: &str = "Fedora 20, dual core 2.3 GHz";

fn read(table: &Table) -> Vec<Dataset> {
    let bandwidths: Vec<Bandwidth> = sheet::lines(include_str!("../../data/published/ipc_bandwidth.csv"));
    let mut results: Vec<_> = bandwidths
        .iter()
        .map(|line| {
            let pattern = if line.mechanism == "udp" { "acknowledged" } else { "stream" };
            let key = Key::new(&subject(&line.mechanism), pattern, Placement::Free).size(line.message_bytes);
            key.with(&[sheet::rate(line.mb_per_s * 1e6 / line.message_bytes as f64)])
        })
        .collect();
    let latencies: Vec<Latency> = sheet::lines(include_str!("../../data/published/ipc_latency.csv"));
    results.extend(latencies.iter().map(|line| {
        let key = Key::new(&subject(&line.mechanism), "rtt", Placement::Free).size(1);
        key.with(&[sheet::rtt_us(line.latency_us)])
    }));
    vec![sheet::dataset(table, "fedora20", ABOUT.to_owned(), &HOST, 0.0, results)]
}

/// Returns today's name: `posix-mq` for `posix_mq`.
fn subject(mechanism: &str) -> String {
    mechanism.replace('_', "-")
}
