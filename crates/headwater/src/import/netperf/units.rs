//! The units in which netperf prints a result: the table of them, and the unit that the head of a table names. Called for
//! every result; a unit that is not in the table is refused, and never taken for another.
//!
//! The manual of netperf (option `-f`) has a letter for each: `K`, `M` and `G` are 2^10, 2^20 and 2^30 bytes per second, `k`,
//! `m` and `g` 10^3, 10^6 and 10^9 bits per second, `x` transactions per second.

use super::test::Kind;
use crate::import::{LeftOut, Line};

/// The unit of request/response rates.
pub(super) const TRANSACTIONS: &str = "Trans/s";

/// The letter of `-f`, the unit without spaces, and its bytes per second; 0 for transactions.
const UNITS: [(&str, &str, f64); 8] = [
    ("x", TRANSACTIONS, 0.0),
    ("k", "10^3bits/s", 1e3 / 8.0),
    ("m", "10^6bits/s", 1e6 / 8.0),
    ("g", "10^9bits/s", 1e9 / 8.0),
    ("", "Bytes/s", 1.0),
    ("K", "KBytes/s", 1024.0),
    ("M", "MBytes/s", 1024.0 * 1024.0),
    ("G", "GBytes/s", 1024.0 * 1024.0 * 1024.0),
];

/// The columns of the last line of a head, with single spaces, up to the unit.
const COLUMNS: [&str; 4] = [
    "bytes bytes secs # #",
    "bytes bytes bytes secs.",
    "bytes Bytes bytes bytes secs.",
    "bytes bytes bytes bytes secs.",
];

/// Returns the unit and its bytes per second. netperf prints `KBytes/sec`, `KBytes/s` and `KBytes  /s`.
pub(super) fn unit(text: &str) -> Option<(&'static str, f64)> {
    let text: String = text.split_whitespace().collect();
    let text = if text == "persec" { TRANSACTIONS } else { text.trim_end_matches("ec") };
    UNITS.iter().find(|(_, name, _)| *name == text).map(|&(_, name, scale)| (name, scale))
}

/// Returns the unit of a letter of `-f`.
pub(super) fn of_letter(letter: &str) -> Option<&'static str> {
    UNITS.iter().find(|(known, ..)| *known == letter && !letter.is_empty()).map(|&(_, name, _)| name)
}

/// Returns the bytes per second of a unit of throughput.
pub(super) fn bytes_per_second(line: &Line, text: &str) -> Result<f64, LeftOut> {
    match unit(text) {
        Some((_, scale)) if scale > 0.0 => Ok(scale),
        _ => Err(line.error(format!("the unit {text:?} is none of a throughput that is known"))),
    }
}

/// The unit of the last number of the classic text.
#[derive(Clone, Debug, Default)]
pub(super) enum Units {
    /// There is neither a banner nor a head.
    #[default]
    Headless,
    /// The head names this unit.
    Known(&'static str),
    /// The head is missing or is not understood: the reason for leaving out the results below it.
    NotUnderstood(String),
}

impl Units {
    /// Returns the state between a banner and its head.
    pub fn behind_banner() -> Units {
        Units::NotUnderstood("no head that is understood stands between the banner and this result".into())
    }

    /// Parses a line of the head. Its last line, which begins with `bytes`, names the unit.
    pub fn read(&mut self, line: &Line) {
        let plain = line.text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !plain.starts_with("bytes") {
            return;
        }
        let rest = COLUMNS.iter().find_map(|columns| plain.strip_prefix(columns));
        // The columns of -c and -C follow.
        let known = rest.and_then(|rest| unit(rest.split(" % ").next().unwrap_or_default()));
        *self = match known {
            Some((unit, _)) => Units::Known(unit),
            None => Units::NotUnderstood(format!(
                "the head of its table is not understood, in line {}: {plain:?}; its unit decides what the figure is",
                line.number
            )),
        };
    }

    /// Returns the unit of a result of that kind, and whether nothing names it. `told` is that of `--test`.
    pub fn of(&self, line: &Line, kind: Kind, told: Option<&'static str>) -> Result<(&'static str, bool), LeftOut> {
        match (self, told) {
            (Units::Known(unit), _) => Ok((unit, false)),
            (Units::NotUnderstood(why), _) => Err(line.error(why)),
            (Units::Headless, Some(unit)) => Ok((unit, false)),
            (Units::Headless, None) => match kind {
                Kind::UdpStream | Kind::TcpStream => Ok(("10^6bits/s", true)),
                Kind::UdpRr | Kind::TcpRr => Ok((TRANSACTIONS, true)),
            },
        }
    }
}
