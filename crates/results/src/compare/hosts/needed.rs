//! How many hosts a verdict takes, from how much they differ. Called by comparisons over hosts.

use serde::{Deserialize, Serialize};

use crate::compare::{Ratio, Rules};
use crate::normal::normal_quantile;
use crate::significance::student;

/// The number of hosts with which a difference of this size is found in four of five comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Needed {
    /// The difference, as a share.
    pub effect: f64,
    /// Hosts, if the row is looked at alone; absent if it is more than [`HOSTS_MAX`].
    pub hosts: Option<u32>,
    /// Hosts, if it is the only row that differs among those of this comparison; likewise.
    pub among_rows: Option<u32>,
}

/// More hosts than this are not advised.
pub const HOSTS_MAX: u32 = 10_000;

/// The differences of the table, beside the minimum effect.
const EFFECTS: [f64; 2] = [0.05, 0.10];

/// Student's distribution is taken as normal from here on.
const TABLE_HOSTS_MAX: usize = 64;

/// The probability, on both sides together, whose quantile is added for four findings of five.
const MISSED: f64 = 0.4;

/// Computes numbers of hosts, and caches quantiles.
pub struct Needs {
    rules: Rules,
    alone: Quantiles,
    among_rows: Quantiles,
    missed: Quantiles,
}

impl Needs {
    pub fn new(rules: Rules, rows: usize) -> Needs {
        let of = Quantiles::of;
        Needs { rules, alone: of(rules.alpha), among_rows: of(rules.alpha / rows.max(1) as f64), missed: of(MISSED) }
    }

    /// Returns the table for hosts that differ by this standard deviation.
    pub fn table(&self, spread: f64) -> Vec<Needed> {
        let mut effects = vec![self.rules.minimum_effect];
        effects.extend(EFFECTS.into_iter().filter(|effect| *effect > self.rules.minimum_effect));
        let of = |effect: f64, level: &Quantiles| {
            hosts(|n| (level.at(n) + self.missed.at(n)) / f64::from(n).sqrt() * spread <= effect.ln_1p())
        };
        let line = |effect| Needed { effect, hosts: of(effect, &self.alone), among_rows: of(effect, &self.among_rows) };
        effects.into_iter().map(line).collect()
    }

    /// Returns about how many more hosts would decide the row: the interval excludes 1, or is within the minimum effect.
    /// `None` if they were more than ten times the present number.
    pub fn more_hosts(&self, ratio: &Ratio, spread: f64) -> Option<u32> {
        if ratio.n < 2 {
            return Some(2);
        }
        let (effect, minimum) = (ratio.value.ln().abs(), self.rules.minimum_effect.ln_1p());
        // Where the row alone would be different, it is the other rows for which it must be so more clearly.
        let level = if ratio.p <= self.rules.alpha { &self.among_rows } else { &self.alone };
        let wanted = if effect >= minimum { effect } else { minimum - effect };
        let more = hosts(|n| level.at(n) / f64::from(n).sqrt() * spread <= wanted)?.saturating_sub(ratio.n).max(1);
        (more <= 10 * ratio.n.max(6)).then_some(more)
    }
}

/// Returns the smallest number of hosts, from two on, for which `is_enough`, which stays true.
fn hosts(is_enough: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut low, mut high) = (2, HOSTS_MAX + 1);
    while low < high {
        let middle = u32::midpoint(low, high);
        if is_enough(middle) { high = middle } else { low = middle + 1 }
    }
    (low <= HOSTS_MAX).then_some(low)
}

/// The quantiles of Student's distribution at one level, by the number of hosts.
struct Quantiles {
    few: Vec<f64>,
    many: f64,
}

impl Quantiles {
    fn of(alpha: f64) -> Quantiles {
        let few = (2..=TABLE_HOSTS_MAX).map(|hosts| student::quantile(alpha, hosts - 1)).collect();
        Quantiles { few, many: normal_quantile(1.0 - alpha / 2.0) }
    }

    fn at(&self, hosts: u32) -> f64 {
        self.few.get((hosts as usize).saturating_sub(2)).copied().unwrap_or(self.many)
    }
}
