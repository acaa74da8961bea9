//! Limits of the control groups: the lowest of the process's own group and its ancestors.

use std::path::Path;

use headwater_os_tools::machine::{Group, Hierarchy};
use headwater_results::schema::Fact;

use super::Source;

/// Captures the limits by their file names in version 2: `cpu.max`, `cpu.weight`, `memory.max`, `pids.max`,
/// `cpuset.cpus.effective`. Limits of version 1 are converted to these names and formats; an absent entry means no
/// limit. `version` is the generation that was found.
pub fn capture(source: &Source, groups: &[Group]) -> Fact {
    let mut facts = Fact::new();
    for group in groups {
        let generation = match group.hierarchy {
            Hierarchy::V1 => "1",
            Hierarchy::V2 => "2",
        };
        let limits: Vec<(&str, String)> = match group.hierarchy {
            Hierarchy::V1 => limits_of_v1(source, group),
            Hierarchy::V2 => limits_of_v2(source, group),
        };
        // If both generations are mounted, the one with controllers is in use.
        if !limits.is_empty() || !facts.contains_key("version") {
            facts.insert("version".to_owned(), generation.to_owned());
        }
        facts.extend(limits.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    facts
}

/// Returns the number of CPUs that a `cpu.max` (`QUOTA PERIOD`) corresponds to; `None` for `max`.
pub fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota_us, period_us) = (quota.parse::<f64>().ok()?, period.trim().parse::<f64>().ok()?);
    (quota_us > 0.0 && period_us > 0.0).then(|| quota_us / period_us)
}

fn limits_of_v2(source: &Source, group: &Group) -> Vec<(&'static str, String)> {
    let read = |directory: &Path, name: &str| source.read(directory.join(name));
    let above = |name: &'static str| group.directories.iter().filter_map(move |at| read(at, name));
    let own = |name: &'static str| group.directories.first().and_then(|at| read(at, name));
    let found = [
        ("cpu.max", tightest(above("cpu.max"), parse_cpu_max)),
        ("cpu.weight", own("cpu.weight")),
        ("cpuset.cpus.effective", own("cpuset.cpus.effective")),
        ("memory.high", tightest(above("memory.high"), parse_number)),
        ("memory.max", tightest(above("memory.max"), parse_number)),
        ("pids.max", tightest(above("pids.max"), parse_number)),
    ];
    found.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn limits_of_v1(source: &Source, group: &Group) -> Vec<(&'static str, String)> {
    // Version 1 represents "no limit" of memory by the largest multiple of the page size.
    const UNLIMITED_BYTES: u64 = 1 << 62;
    let read = |directory: &Path, name: &str| source.read(directory.join(name));
    let above = |name: &'static str| group.directories.iter().filter_map(move |at| read(at, name));
    let own = |name: &'static str| group.directories.first().and_then(|at| read(at, name));
    let quotas = group
        .directories
        .iter()
        .filter_map(|at| Some(format!("{} {}", read(at, "cpu.cfs_quota_us")?, read(at, "cpu.cfs_period_us")?)));
    let memory =
        above("memory.limit_in_bytes").filter(|text| text.parse().is_ok_and(|bytes: u64| bytes < UNLIMITED_BYTES));
    let of = |controller: &str| group.controllers.iter().any(|name| name == controller);
    let found = [
        ("cpu.max", of("cpu").then(|| tightest(quotas, parse_cpu_max)).flatten()),
        ("cpu.shares", of("cpu").then(|| own("cpu.shares")).flatten()),
        (
            "cpuset.cpus.effective",
            of("cpuset").then(|| own("cpuset.effective_cpus").or_else(|| own("cpuset.cpus"))).flatten(),
        ),
        ("memory.max", of("memory").then(|| tightest(memory, parse_number)).flatten()),
        ("pids.max", of("pids").then(|| tightest(above("pids.max"), parse_number)).flatten()),
    ];
    found.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Returns the text with the lowest value. Texts without a value set no limit.
fn tightest(texts: impl Iterator<Item = String>, value: impl Fn(&str) -> Option<f64>) -> Option<String> {
    let limited = texts.filter_map(|text| Some((value(&text)?, text)));
    limited.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, text)| text)
}

fn parse_number(text: &str) -> Option<f64> {
    text.parse::<u64>().ok().map(|number| number as f64)
}

#[cfg(test)]
mod tests;
