//! The geometric mean of the ratios of all rows, with its interval: what a change does on the whole.
//!
//! Rows of one block are slow together, so their intervals cannot be combined as if they were independent. The mean over rows is
//! formed within each block first, and blocks, launches or hosts are the replicates, as for a single row.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ratio::{Ratios, Sample, Spread};
use super::{Ratio, Resemblance, RowComparison, Rules, Side, Verdict, counterparts, hosts};
use crate::schema::{Better, Metric, MetricResult};

/// The geometric mean of the ratios of several rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct GeometricMean {
    /// The number of rows: those of a rate or a time that both sides have.
    pub rows: u32,
    /// The direction of an improvement: that of the rows, or `higher` if they differ. Then ratios of rows for which lower is better
    /// are inverted.
    pub better: Better,
    /// Candidate over baseline.
    pub ratio: Ratio,
}

/// Whether a ratio of the quantity is one of speeds. The mean of a speed and of a loss or a number of bytes would mean nothing.
fn is_speed(metric: &Metric) -> bool {
    metric.unit.ends_with("/s") || ["ns", "us", "ms", "s"].contains(&metric.unit.as_str())
}

/// Returns the direction of the mean of these quantities; `None` of fewer than two.
fn direction<'a>(metrics: impl ExactSizeIterator<Item = &'a Metric>) -> Option<Better> {
    let several = metrics.len() > 1;
    let mut metrics = metrics.map(|metric| metric.better);
    several.then(|| if metrics.all(|better| better == Better::Lower) { Better::Lower } else { Better::Higher })
}

/// Returns the exponent with which a row of this quantity enters a mean of this direction.
fn sign(metric: &Metric, mean: Better) -> f64 {
    if metric.better == mean { 1.0 } else { -1.0 }
}

/// Returns the mean over the rows that both sides have: within blocks if the same runs measured both, else from their launches.
pub(super) fn of_launches(
    baseline: &Side<'_>,
    candidate: &Side<'_>,
    resemblance: Option<Resemblance>,
    rules: Rules,
) -> Option<GeometricMean> {
    let after: BTreeMap<&str, _> = candidate.members.iter().map(|member| (member.label.as_str(), member)).collect();
    let mut are_paired = true;
    let mut pairs: Vec<[&MetricResult; 2]> = Vec::new();
    for before in &baseline.members {
        let Some(after) = after.get(before.label.as_str()) else { continue };
        let Ok(metrics) = counterparts(&before.result, &after.result, ["", ""]) else { continue };
        let own = metrics.first().map(|&(from, to)| [from, to]);
        let is_positive = |side: &MetricResult| side.launches.iter().all(|value| *value > 0.0);
        let usable = own.filter(|own| is_speed(&own[0].metric) && own.iter().all(|side| is_positive(side)));
        are_paired &= usable.is_none() || before.runs == after.runs;
        pairs.extend(usable);
    }
    let better = direction(pairs.iter().map(|[from, _]| &from.metric))?;
    let sides = [0, 1].map(|side: usize| {
        let rows: Vec<&MetricResult> = pairs.iter().map(|pair| pair[side]).collect();
        means_of_blocks(&rows, better)
    });
    let [before, after] = &sides;
    let launches = [&before.1[..], &after.1];
    let sample = match are_paired {
        true => Sample::paired_launches([&before.0, &after.0], launches),
        false => Sample::independent_launches(launches),
    };
    let ratio = Ratios::at(rules.alpha).of(&sample?)?;
    // What all rows have in common is the mean itself; the comparison says beside it that the machine may have moved.
    let spread = Spread::known(rules.drift, rules.alpha);
    let (ratio, _) = ratio.on_drifting_machine(spread, 0.0, resemblance, spread.deviate);
    Some(GeometricMean { rows: pairs.len() as u32, better, ratio })
}

/// Returns the blocks in which all rows have a launch, and the geometric mean over the rows in each.
fn means_of_blocks(rows: &[&MetricResult], better: Better) -> (Vec<u32>, Vec<f64>) {
    let mut sums: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for row in rows {
        for (block, value) in row.blocks.iter().zip(&row.launches) {
            let (count, sum) = sums.entry(*block).or_default();
            *count += 1;
            *sum += sign(&row.metric, better) * value.ln();
        }
    }
    let whole = sums.into_iter().filter(|(_, (count, _))| *count == rows.len());
    whole.map(|(block, (count, sum))| (block, (sum / count as f64).exp())).unzip()
}

/// Returns the mean over the rows of a comparison over hosts, from the hosts that have all of them.
pub(super) fn of_hosts(rows: &[RowComparison], hosts: usize, alpha: f64) -> Option<GeometricMean> {
    let rows: Vec<&RowComparison> =
        rows.iter().filter(|row| row.verdict != Verdict::Unjudged && is_speed(&row.metric)).collect();
    let better = direction(rows.iter().map(|row| &row.metric))?;
    let mut sums = vec![(0, 0.0); hosts];
    for row in &rows {
        for host in row.hosts.iter().flat_map(|over| &over.ratios) {
            if let Some((count, sum)) = sums.get_mut(host.host as usize) {
                *count += 1;
                *sum += sign(&row.metric, better) * host.value.ln();
            }
        }
    }
    let whole = sums.iter().filter(|(count, _)| *count == rows.len());
    let means: Vec<f64> = whole.map(|(count, sum)| sum / *count as f64).collect();
    let ratio = hosts::over(&means, &mut Ratios::at(alpha), alpha)?;
    Some(GeometricMean { rows: rows.len() as u32, better, ratio })
}

#[cfg(test)]
mod tests;
