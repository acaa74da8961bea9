//! The present load, pressure and stolen time.

use std::collections::BTreeMap;

use headwater_os_tools::machine::CpuTimes;
use headwater_results::schema::Load;

use super::{Source, other_measurements};

/// Captures the other activity of the machine.
pub fn capture(source: &Source) -> Load {
    Load {
        average_1min: source.read("/proc/loadavg").and_then(|text| parse_loadavg(&text)).unwrap_or(0.0),
        pressure_some_avg10: pressure(source),
        steal_since_boot: CpuTimes::read().map_or(0.0, |times| times.shares().steal),
        other_measurements: other_measurements::capture(source),
    }
}

/// Parses the one-minute average, the first number of `/proc/loadavg`.
pub fn parse_loadavg(text: &str) -> Option<f64> {
    text.split_ascii_whitespace().next()?.parse().ok().filter(|load: &f64| load.is_finite())
}

/// Returns the pressure of each resource that the kernel monitors (PSI, Documentation/accounting/psi.rst).
fn pressure(source: &Source) -> BTreeMap<String, f64> {
    let read = |name: &str| Some((name.to_owned(), parse_pressure(&source.read(format!("/proc/pressure/{name}"))?)?));
    ["cpu", "io", "memory"].into_iter().filter_map(read).collect()
}

/// Parses the percentage in `some avg10=` of a pressure file.
pub fn parse_pressure(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let value = line.split(' ').find_map(|word| word.strip_prefix("avg10="))?;
    value.parse().ok().filter(|percent: &f64| percent.is_finite())
}

#[cfg(test)]
mod tests;
