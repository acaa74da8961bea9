//! Comparisons over hosts: each host that has measured both sides gives one ratio per row, and the hosts are the replicates.
//! Called by `compare`, which hands over one run after the other ([`gathered`]).
//!
//! Forty launches on one host say how precise that host's ratio is, and nothing about another host. The interval of a row
//! is therefore that of the ratios of hosts, each counted once: it holds what hosts differ by, and what a host differs by
//! from one run to the next. With fewer than [`RANKS_HOSTS_MIN`] hosts it is Student's, else that of the signed ranks.

use std::num::NonZero;

use serde::{Deserialize, Serialize};

use super::ratio::{Ratios, Sample, standard_errors};
use super::{Comparison, LeftOut, Ratio, RowComparison, Rules, Verdict, geometric_mean, judge};
use crate::estimate::{Estimate, median};
use crate::significance::outliers::{Value, furthest};
use crate::significance::{family, student};
use crate::sorting::Arrange;
use gathered::{Gathered, Paired};
pub use needed::Needed;
use needed::Needs;

pub mod gathered;
mod needed;

/// From this number of hosts on, ranks decide: one host at ten times the distance does not hide what the others have in
/// common, and a p-value of a millionth can be reached, as many rows need.
pub const RANKS_HOSTS_MIN: usize = 20;

/// The hosts of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Hosts {
    /// What hosts are told apart by: `host`, `name`, or a label of the runs.
    pub by: String,
    /// The hosts that have measured both sides. Two of them and more are the replicates; with one, its launches are, and the
    /// verdicts hold for this host.
    pub names: Vec<String>,
    /// Hosts that have measured one side only. They take no part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_sided: Vec<OneSided>,
    /// Expected hosts without any run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Hosts without some of the rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<Lacking>,
    /// Names of hosts that are taken as one, because they have the same machine id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<Vec<String>>,
    /// Hosts whose ratio differs from those of the rest, the most rows first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Vec<Odd>,
    /// How many hosts it takes to find a difference, where they differ from each other as in the row in the middle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needed: Vec<Needed>,
}

/// A host that has measured one side only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct OneSided {
    /// The host.
    pub host: String,
    /// The side that it has.
    pub side: String,
}

/// A host without some of the rows that others have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Lacking {
    /// The host.
    pub host: String,
    /// The number of rows.
    pub rows: u32,
    /// Why the first of them is absent, in words; empty if the runs do not say it.
    pub reason: String,
}

/// A host that differs from the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Odd {
    /// The host.
    pub host: String,
    /// The labels of the rows in which it differs, the largest distance first.
    pub rows: Vec<String>,
    /// Its ratio in the first of them.
    pub ratio: f64,
    /// The ratio over all hosts there.
    pub rest: f64,
}

/// A row over hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct OverHosts {
    /// The ratio of every host that has measured the row on both sides, in the order of [`Hosts::names`].
    pub ratios: Vec<HostRatio>,
    /// How much hosts differ beyond what their launches explain: a standard deviation of logarithms.
    pub between: f64,
    /// The standard deviation of the logarithms that the interval corresponds to; 0 for a single host.
    pub spread: f64,
}

/// The ratio of one host, from its launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct HostRatio {
    /// The place of the host in [`Hosts::names`].
    pub host: u32,
    /// Candidate over baseline.
    pub value: f64,
    /// Lower end of the interval of the host's launches.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Common blocks, or launches of the side that has fewer.
    pub n: u32,
    /// Whether the host differs from the rest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub odd: bool,
}

/// Compares two levels over the hosts that have measured both.
pub fn compare_over_hosts(
    gathered: &Gathered,
    [baseline, candidate]: [usize; 2],
    rules: Rules,
    threads: NonZero<usize>,
) -> Comparison {
    let sides = [baseline, candidate];
    // What drifts from run to run differs between hosts, and is in the interval already.
    let rules = Rules { drift: 0.0, ..rules };
    let paired = gathered.paired(sides);
    let (mut rows, far, left_out) = rows(gathered, &paired, sides, rules, threads);
    judge(&mut rows, rules);
    let needs = Needs::new(rules, rows.len());
    for row in &mut rows {
        let (Some(ratio), Some(over)) = (row.ratio, &row.hosts) else { continue };
        if let Verdict::Inconclusive { more_blocks, more_hosts, .. } = &mut row.verdict {
            *more_blocks = None;
            *more_hosts = needs.more_hosts(&ratio, over.spread);
        }
    }
    let hosts = paired.hosts();
    let odd = name_odd(&mut rows, &far, &hosts.names, rules.alpha);
    let spreads: Vec<f64> = rows.iter().filter_map(|row| row.hosts.as_ref()).map(|over| over.spread).collect();
    let spreads: Vec<f64> = spreads.into_iter().filter(|spread| *spread > 0.0).collect();
    let needed = median(&spreads).map_or_else(Vec::new, |spread| needs.table(spread));
    let hosts = Hosts { odd, needed, ..hosts };
    let [baseline, candidate] = sides.map(|side| gathered.levels()[side].clone());
    let geometric_mean = geometric_mean::of_hosts(&rows, hosts.names.len(), rules.alpha);
    Comparison {
        baseline,
        candidate,
        rules,
        rows,
        left_out,
        geometric_mean,
        hosts: Some(hosts),
        movement: None,
        resemblance: None,
    }
}

/// The hosts furthest from the rest in a row, by their places among its ratios, with their p-values.
type Far = Vec<(usize, f64)>;

/// Computes every row; each thread takes a part of equal length.
fn rows(
    gathered: &Gathered,
    paired: &Paired<'_>,
    sides: [usize; 2],
    rules: Rules,
    threads: NonZero<usize>,
) -> (Vec<RowComparison>, Vec<Far>, Vec<LeftOut>) {
    let places: Vec<usize> = (0..gathered.rows().len()).collect();
    // Starting a thread takes as long as some rows of many hosts.
    const ROWS_OF_A_THREAD: usize = 16;
    let part = places.len().div_ceil(threads.get()).max(ROWS_OF_A_THREAD);
    let part_of = |part: &[usize]| -> Vec<Result<(RowComparison, Far), LeftOut>> {
        let mut ratios = Ratios::at(rules.alpha);
        part.iter().map(|&row| one(gathered, paired, sides, row, &mut ratios, rules.alpha)).collect()
    };
    let results: Vec<Result<(RowComparison, Far), LeftOut>> = std::thread::scope(|scope| {
        let running: Vec<_> = places.chunks(part).map(|part| scope.spawn(|| part_of(part))).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("it does not panic")).collect()
    });
    let (mut rows, mut all_far, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok((row, far)) => {
                rows.push(row);
                all_far.push(far);
            }
            Err(left) => left_out.push(left),
        }
    }
    (rows, all_far, left_out)
}

fn one(
    gathered: &Gathered,
    paired: &Paired<'_>,
    sides: [usize; 2],
    row: usize,
    ratios: &mut Ratios,
    alpha: f64,
) -> Result<(RowComparison, Far), LeftOut> {
    let key = &gathered.rows()[row];
    let mut found: Vec<(u32, Ratio)> = Vec::new();
    let mut medians = [Vec::new(), Vec::new()];
    for (host, [before, after]) in paired.cells(row) {
        let launches = [&before.launches[..], &after.launches[..]];
        // The same runs have measured both in their blocks.
        let sample = match !gathered.factor().is_of_runs() && before.runs == after.runs {
            true => Sample::paired_launches([&before.blocks, &after.blocks], launches),
            false => Sample::independent_launches(launches),
        };
        let Some(ratio) = sample.and_then(|sample| ratios.of(&sample)) else { continue };
        found.push((host, ratio));
        for (side, launches) in medians.iter_mut().zip(launches) {
            side.extend(median(launches));
        }
    }
    let estimates = medians.map(|side| Estimate::of_launches(&side));
    let logarithms: Vec<f64> = found.iter().map(|(_, ratio)| ratio.value.ln()).collect();
    let ratio = over(&logarithms, ratios, alpha);
    let ([Some(before), Some(after)], Some(ratio)) = (estimates, ratio) else {
        return Err(paired.left_out(row, sides));
    };
    let errors = standard_errors(found.iter().map(|(_, ratio)| ratio));
    let variances: Vec<f64> = errors.iter().flatten().map(|error| error * error).collect();
    let of_launches = variances.iter().sum::<f64>() / variances.len().max(1) as f64;
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    let total = if ratio.n > 1 { student::variance(&logarithms, mean) } else { 0.0 };
    let half_width = (ratio.high / ratio.low).ln() / 2.0;
    let spread = match ratio.n {
        0 | 1 => 0.0,
        n => half_width * f64::from(n).sqrt() / student::quantile(1.0 - ratio.confidence, n as usize - 1),
    };
    let ratio_of =
        |&(host, Ratio { value, low, high, n, .. }): &(u32, Ratio)| HostRatio { host, value, low, high, n, odd: false };
    let row = RowComparison {
        row: key.row.clone(),
        label: key.label.clone(),
        metric: key.row.metrics[0].clone(),
        baseline: before,
        candidate: after,
        ratio: Some(ratio),
        p_adjusted: None,
        verdict: Verdict::OPEN,
        hosts: Some(OverHosts {
            ratios: found.iter().map(ratio_of).collect(),
            between: (total - of_launches).max(0.0).sqrt(),
            spread,
        }),
    };
    Ok((row, furthest(&values(&logarithms, &errors, &variances))))
}

/// Returns the ratio over hosts, from the logarithms of theirs.
pub(super) fn over(logarithms: &[f64], ratios: &mut Ratios, alpha: f64) -> Option<Ratio> {
    match logarithms.len() < RANKS_HOSTS_MIN {
        true => student::shift(logarithms, alpha).map(|shift| Ratio::of(&shift, true)),
        false => ratios.of(&Sample::Paired(logarithms.to_vec())),
    }
}

/// Marks the hosts that differ from the rest, and returns them. Rows are a family: of the rows in which some host is said to
/// differ at most the share `alpha` is expected to have none.
fn name_odd(rows: &mut [RowComparison], candidates: &[Far], names: &[String], alpha: f64) -> Vec<Odd> {
    let tests: Vec<(f64, f64)> = candidates.iter().filter_map(|found| found.first()).map(|(_, p)| (*p, 0.0)).collect();
    let significant = family::judge(&tests, alpha).iter().filter(|member| member.significant).count();
    let level = alpha * significant as f64 / tests.len().max(1) as f64;
    let mut of_hosts: Vec<Vec<(f64, usize, f64)>> = vec![Vec::new(); names.len()];
    for (at, (row, found)) in rows.iter_mut().zip(candidates).enumerate() {
        let (Some(over), Some(ratio)) = (&mut row.hosts, row.ratio) else { continue };
        for &(place, p) in found.iter().filter(|(_, p)| significant > 0 && *p <= level) {
            debug_assert!((0.0..=1.0).contains(&p), "no probability: {p}");
            let host = &mut over.ratios[place];
            host.odd = true;
            let distance = (host.value / ratio.value).ln().abs();
            if let Some(of_host) = of_hosts.get_mut(host.host as usize) {
                of_host.push((distance, at, host.value));
            }
        }
    }
    let mut odd: Vec<(f64, Odd)> = Vec::new();
    for (name, mut of_host) in names.iter().zip(of_hosts) {
        of_host.arrange_by(|a, b| b.0.total_cmp(&a.0));
        let Some(&(distance, row, ratio)) = of_host.first() else { continue };
        let labels = of_host.iter().map(|(_, row, _)| rows[*row].label.clone()).collect();
        let rest = rows[row].ratio.map_or(1.0, |ratio| ratio.value);
        odd.push((distance, Odd { host: name.clone(), rows: labels, ratio, rest }));
    }
    odd.arrange_by(|(a, one), (b, other)| other.rows.len().cmp(&one.rows.len()).then_with(|| b.total_cmp(a)));
    odd.into_iter().map(|(_, odd)| odd).collect()
}

/// Returns the ratios of hosts with their uncertainties, for the search for those that differ.
fn values(logarithms: &[f64], errors: &[Option<f64>], variances: &[f64]) -> Vec<Value> {
    let usual = median(variances).unwrap_or(0.0);
    let excess = |error: Option<f64>| error.map_or(0.0, |error| (error * error - usual).max(0.0));
    logarithms.iter().zip(errors).map(|(&value, &error)| Value { value, excess: excess(error) }).collect()
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
