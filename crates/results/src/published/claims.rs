//! What the reports claim, held against their own figures. Printed by `list published --claims` and in
//! docs/published.md.
//!
//! A claim is computed from the table of its own report, nothing else: a case per dataset, each with the range over the
//! sizes and the geometric mean. What "about" means is one rule for all: [`ABOUT`].

mod fifo;
mod ipc;
mod ltt;
mod pipes;
mod udp;

use super::{find, run};
use crate::schema::Run;

/// "About N" holds where the mean lies between N / 1.5 and 1.5 N: generous, so that what fails fails plainly.
pub const ABOUT: f64 = 1.5;

/// "As fast as" holds down to 2 % slower: the smallest effect on which a verdict rests (MEASURING.md section 2.7).
pub const AS_FAST: f64 = 0.98;

/// A claim of a report, and how it is checked.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The table whose figures decide.
    pub table: &'static str,
    /// What is claimed.
    pub says: &'static str,
    /// Whose words those are.
    pub wording: Wording,
    /// How it is computed, and when a case holds.
    pub how: &'static str,
    /// What the figures of a case are.
    pub unit: Unit,
    /// How many cases must hold.
    pub needs: Needs,
    check: fn() -> Vec<Case>,
}

/// Whose words a claim is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// Words of the report or of its author.
    Quoted {
        /// Where they stand.
        from: &'static str,
    },
    /// The sense, as this project has it on record; the wording is not at hand.
    InSense,
    /// No report claims it; the figures invite the question.
    Asked,
}

/// How a figure is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A ratio: 2.5 is 2.5 times as much.
    Times,
    /// A ratio, read as a change: 1.3 is 30 % more.
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

/// One dataset of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Dataset and what of it.
    pub of: String,
    /// The smallest ratio.
    pub low: f64,
    /// The geometric mean of the ratios.
    pub mean: f64,
    /// The largest.
    pub high: f64,
    /// Whether the claim holds here.
    pub holds: bool,
    /// What a reader should know; may be empty.
    pub remark: String,
}

/// What becomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It holds in some cases.
    HoldsInPart,
    /// It holds nowhere.
    DoesNotHold,
}

/// Every claim, in the order of the tables.
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
    /// Its cases, computed.
    pub fn cases(&self) -> Vec<Case> {
        (self.check)()
    }

    /// What becomes of it with these cases.
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
    /// Of these ratios (not empty, positive); `holds` decides from the case itself.
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

    /// With a remark.
    fn remarked(self, remark: String) -> Case {
        Case { remark, ..self }
    }
}

/// Whether a value is about `claimed`.
fn is_about(value: f64, claimed: f64) -> bool {
    (claimed / ABOUT..=claimed * ABOUT).contains(&value)
}

/// A row's value of a metric, with its size.
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

/// One subject over another at each size that both have; empty where the dataset lacks one.
fn ratios(run: &Run, subject: &str, base: &str, metric: &str) -> Vec<(u64, f64)> {
    let bases = values(run, base, metric);
    let of_base = |size: u64| bases.iter().find(|(other, _)| *other == size).map(|(_, value)| *value);
    let pairs = values(run, subject, metric);
    pairs.into_iter().filter_map(|(size, value)| Some((size, value / of_base(size)?))).collect()
}

/// A case for each dataset of `table` that has both subjects.
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
