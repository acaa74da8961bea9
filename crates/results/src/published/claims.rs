//! The claims of the reports, checked against their own figures. Printed by `list published --claims` and in
//! docs/published.md.
//!
//! A claim is computed only from the table of its own report: one case per dataset, with the range over the sizes and
//! the geometric mean. "About" has the same meaning for all: [`ABOUT`].

mod fifo;
mod ipc;
mod ltt;
mod pipes;
mod udp;

use super::{find, run};
use crate::schema::Run;

/// "About N" holds if the mean is between N / 1.5 and 1.5 N: a generous range, so that a failure is unambiguous.
pub const ABOUT: f64 = 1.5;

/// "As fast as" holds down to 2 % slower: the smallest effect of a verdict (MEASURING.md section 2.7).
pub const AS_FAST: f64 = 0.98;

/// A claim of a report, and how it is checked.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The table whose figures are used.
    pub table: &'static str,
    /// The claim.
    pub says: &'static str,
    /// The source of the wording.
    pub wording: Wording,
    /// How it is computed, and when a case holds.
    pub how: &'static str,
    /// The unit of a case's figures.
    pub unit: Unit,
    /// How many cases must hold.
    pub needs: Needs,
    check: fn() -> Vec<Case>,
}

/// The source of a claim's wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// Words of the report or of its author.
    Quoted {
        /// Where they are.
        from: &'static str,
    },
    /// The meaning is known, but the wording is not available.
    InSense,
    /// No report claims it; the figures suggest the question.
    Asked,
}

/// How a figure is displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A ratio: 2.5 is 2.5 times as much.
    Times,
    /// A ratio, displayed as a change: 1.3 is 30 % more.
    Change,
}

/// How many cases a claim needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Every one.
    Every,
    /// One: "up to".
    One,
}

/// The result for one dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The dataset, and the part of it.
    pub of: String,
    /// The smallest ratio.
    pub low: f64,
    /// The geometric mean of the ratios.
    pub mean: f64,
    /// The largest ratio.
    pub high: f64,
    /// Whether the claim holds here.
    pub holds: bool,
    /// A remark for the reader; may be empty.
    pub remark: String,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It holds in some cases.
    HoldsInPart,
    /// It holds nowhere.
    DoesNotHold,
}

/// All claims, in the order of the tables.
pub static TABLE: &[Claim] = &[
    pipes::FIVE_TIMES,
    pipes::UP_TO_FIVE_TIMES,
    pipes::ENTIRE_RANGE,
    pipes::THREE_TO_SIX,
    pipes::LIS_SLOW,
    pipes::LIS_25,
    pipes::LIS_UP_TO_25,
    udp::AS_MUCH_AS_30_TO_40,
    udp::UBUNTU,
    udp::FORTY_TO_SIXTY,
    udp::XTIOS,
    fifo::SAVING_30,
    ipc::PIPE_AHEAD,
    ltt::DAEMON_OFF,
    ltt::DAEMON_ON,
    ltt::ROWS,
];

impl Claim {
    /// Computes its cases.
    pub fn cases(&self) -> Vec<Case> {
        (self.check)()
    }

    /// Returns the verdict for these cases.
    pub fn verdict(&self, cases: &[Case]) -> Verdict {
        let holding = cases.iter().filter(|case| case.holds).count();
        match self.needs {
            _ if holding == 0 => Verdict::DoesNotHold,
            Needs::One => Verdict::Holds,
            Needs::Every if holding == cases.len() => Verdict::Holds,
            Needs::Every => Verdict::HoldsInPart,
        }
    }
}

impl Case {
    /// Makes a case of these ratios (not empty, positive); `holds` decides from the case itself.
    fn of(name: String, ratios: &[f64], holds: impl FnOnce(&Case) -> bool) -> Case {
        let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
        let mut case = Case {
            of: name,
            low: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            mean: (logarithms / ratios.len() as f64).exp(),
            high: ratios.iter().copied().fold(0.0, f64::max),
            holds: false,
            remark: String::new(),
        };
        case.holds = holds(&case);
        case
    }

    /// Adds a remark.
    fn remarked(self, remark: String) -> Case {
        Case { remark, ..self }
    }
}

/// Whether a value is about `claimed`.
fn is_about(value: f64, claimed: f64) -> bool {
    (claimed / ABOUT..=claimed * ABOUT).contains(&value)
}

/// Returns a row's values of a metric, with their sizes.
fn values(run: &Run, subject: &str, metric: &str) -> Vec<(u64, f64)> {
    run.results
        .iter()
        .filter(|result| result.row.subject == subject)
        .filter_map(|result| {
            let found = result.metrics.iter().find(|found| found.metric.name == metric)?;
            Some((result.row.size_bytes?, found.estimate.median))
        })
        .collect()
}

/// Returns the ratios of one subject to another at each common size; none if the dataset lacks one of them.
fn ratios(run: &Run, subject: &str, base: &str, metric: &str) -> Vec<(u64, f64)> {
    let bases = values(run, base, metric);
    let of_base = |size: u64| bases.iter().find(|(other, _)| *other == size).map(|(_, value)| *value);
    let pairs = values(run, subject, metric);
    pairs.into_iter().filter_map(|(size, value)| Some((size, value / of_base(size)?))).collect()
}

/// Returns a case for each dataset of `table` that has both subjects.
fn by_dataset(table: &str, subject: &str, base: &str, metric: &str, holds: impl Fn(&Case) -> bool) -> Vec<Case> {
    let datasets = find(table).map(super::Table::datasets).unwrap_or_default();
    datasets
        .into_iter()
        .filter_map(|dataset| {
            let ratios: Vec<f64> =
                ratios(&dataset.run, subject, base, metric).into_iter().map(|(_, ratio)| ratio).collect();
            (!ratios.is_empty()).then(|| Case::of(dataset.name, &ratios, &holds))
        })
        .collect()
}

#[cfg(test)]
mod tests;
