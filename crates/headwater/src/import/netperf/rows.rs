//! Makes rows from netperf's figures. Called for each result, in whichever form it was printed.

use headwater_gauge::plan::rows;
use headwater_gauge::{patterns, transports};
use headwater_results::schema::Placement;

use super::test::{Kind, Test};
use super::units::{TRANSACTIONS, bytes_per_second, unit as known_unit};
use crate::import::{Imported, LeftOut, Line};

/// The minimum number of significant digits of a throughput: with two digits the error is up to 5 %.
const DIGITS_MIN: usize = 3;

/// The smallest buffer of a receiver whose results are rows of pattern `stream-full`.
const FULL_READ_BYTES: u64 = 64 << 10;

/// The socket buffers of the rows of `udp`, as reported by the kernel.
const SOCKET_BYTES: u64 = 2 * 131_071;

/// The figures of one result.
#[derive(Clone, Debug)]
pub(super) enum Figures {
    /// One-way; messages that do not fit are lost.
    Flood { size: u64, elapsed_s: f64, sent: Option<f64>, refused: f64, received: f64, socket_bytes: Option<u64> },
    /// One-way.
    Stream { size: u64, elapsed_s: f64, throughput: String, unit: String, receive_bytes: Option<u64> },
    /// Request and answer.
    RoundTrip { kind: Kind, request: u64, response: u64, elapsed_s: f64, rate: String, unit: String },
}

/// Adds figures to their row, or records the reason for leaving them out.
pub(super) fn add(line: &Line, test: &Test, figures: Figures, imported: &mut Imported) -> Result<(), LeftOut> {
    if test.remote {
        imported.leave(line, "over a network this is another measurement: only loopback is imported");
        return Ok(());
    }
    match figures {
        Figures::Flood { size, elapsed_s, sent, refused, received, socket_bytes } => {
            if let Some(bytes) = socket_bytes.filter(|&bytes| bytes != SOCKET_BYTES) {
                imported.note(format!(
                    "UDP_STREAM with socket buffers of {bytes} B, where rows of udp have {SOCKET_BYTES}: what was lost \
                     depends on them (`-- -s 131071 -S 131071` makes them equal)"
                ));
            }
            let rate = |messages: f64| messages / elapsed_s;
            // netperf may count one message more at the receiver than at the sender.
            let loss = sent.map(|sent| ((sent - received) / sent).max(0.0));
            let mut counters = vec![("refused", refused)];
            counters.extend(sent.map(|sent| ("operations", sent)));
            store(imported, "udp", "flood", size, vec![Some(rate(received)), sent.map(rate), loss], counters);
            imported.time_s = imported.time_s.max(elapsed_s);
        }
        Figures::Stream { size, elapsed_s, throughput, unit, receive_bytes } => {
            let scale = bytes_per_second(line, &unit)?;
            if digits(&throughput) < DIGITS_MIN {
                imported.leave(line, format!("{throughput} {unit} has too few digits: run netperf without -f"));
                return Ok(());
            }
            let pattern = match receive_bytes {
                Some(bytes) if bytes == size => "stream",
                Some(bytes) if bytes < FULL_READ_BYTES => {
                    imported
                        .leave(line, format!("no row has a receiver that reads up to {bytes} B of messages of {size}"));
                    return Ok(());
                }
                _ => "stream-full",
            };
            let rate = line.positive(&throughput, "the throughput")? * scale / size as f64;
            store(
                imported,
                if test.nodelay { "tcp" } else { "tcp-nagle" },
                pattern,
                size,
                vec![Some(rate)],
                Vec::new(),
            );
            imported.time_s = imported.time_s.max(elapsed_s);
        }
        Figures::RoundTrip { kind, request, response, elapsed_s, rate, unit } => {
            let why = match () {
                () if known_unit(&unit).is_none_or(|(name, _)| name != TRANSACTIONS) => {
                    Some(format!("{rate} {unit} is no rate of transactions: run netperf without -f, or with -f x"))
                }
                () if test.burst > 0 => Some(format!("no row has {} requests on the way at once", test.burst + 1)),
                () if request != response => {
                    Some(format!("no row answers a request of {request} B with {response} B: give -r one size"))
                }
                () => None,
            };
            if let Some(why) = why {
                imported.leave(line, why);
                return Ok(());
            }
            let transport = match kind {
                Kind::TcpStream | Kind::TcpRr => "tcp",
                Kind::UdpStream | Kind::UdpRr if test.connected => "udp",
                Kind::UdpStream | Kind::UdpRr => "udp-unconnected",
            };
            let rtt_ns = 1e9 / line.positive(&rate, "the rate")?;
            store(imported, transport, "rtt", request, vec![Some(rtt_ns)], Vec::new());
            imported.time_s = imported.time_s.max(elapsed_s);
        }
    }
    Ok(())
}

fn store(
    imported: &mut Imported,
    transport: &str,
    pattern: &str,
    size: u64,
    values: Vec<Option<f64>>,
    counters: Vec<(&'static str, f64)>,
) {
    let transport = transports::find(transport).expect("netperf's transports are in the table").info;
    let pattern = patterns::find(pattern).expect("netperf's patterns are in the table").info;
    imported.add(rows::of_transport(transport, pattern, size, None, Placement::Free), None, values, counters);
}

/// Returns the number of significant digits of a printed figure.
fn digits(text: &str) -> usize {
    text.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count()
}
