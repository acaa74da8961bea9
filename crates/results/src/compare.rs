//! Compares two measurements of the same rows: ratios with intervals, p-values adjusted for the family, verdicts.
//! Called by `compare`, `noise` and `run --against`; presented by report. It reads no file and prints nothing.
//!
//! Replicates are launches. If both sides were measured in the same blocks, the ratio is paired within the block, so
//! that drift of the machine cancels. Two successive runs share no blocks, and their ratio is that of two independent
//! samples (MEASURING.md sections 2.3, 2.6 and 2.7). Ratio, interval and p-value are one statistic
//! ([`crate::significance::shift`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::normal::normal_quantile;
use crate::schema::{Metric, MetricResult, Row, RowOutcome, RowResult};
use crate::significance::family::Together;
use ratio::{Ratios, Sample, Spread};

pub use crate::significance::shift::blocks_for;
pub use geometric_mean::GeometricMean;
pub use hosts::{Hosts, OverHosts};
pub use movement::Movement;
pub use resemblance::Resemblance;
pub use verdict::blocks_for_family;

pub mod environment;
pub mod factor;
mod geometric_mean;
pub mod hosts;
pub mod movement;
pub mod noise;
pub mod ratio;
pub mod resemblance;
pub(crate) mod verdict;

/// Two measurements compared, row by row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The side that is compared with: the name of a run, or of one level of a factor.
    pub baseline: String,
    /// The side that is judged.
    pub candidate: String,
    /// The rules.
    pub rules: Rules,
    /// Every metric of every row that both have, in the order of the baseline. The first metric of a row is its own
    /// figure and belongs to the family of tests; the others are shown and not judged.
    pub rows: Vec<RowComparison>,
    /// Rows that could not be compared, with the reason in words.
    pub left_out: Vec<LeftOut>,
    /// The geometric mean of the ratios; absent with fewer than two rows of a rate or a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometric_mean: Option<GeometricMean>,
    /// The hosts, if they are the replicates, or if all runs are of one host; absent where runs of different hosts are
    /// compared with each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// What all rows have in common, if the sides are successive runs of one machine with enough rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub movement: Option<Movement>,
    /// How much launches resemble those before them, if it is more than chance explains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resemblance: Option<Resemblance>,
}

impl Comparison {
    /// Returns the hosts, if they are the replicates of the verdicts.
    pub fn over_hosts(&self) -> Option<&Hosts> {
        self.hosts.as_ref().filter(|hosts| hosts.names.len() > 1)
    }
}

/// The rules of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Rules {
    /// The tolerated share of false discoveries among the rows called different, 0..1.
    pub alpha: f64,
    /// The smallest change that matters to the user, as a share: with 0.02, changes within 2 % in either direction are
    /// equivalent.
    pub minimum_effect: f64,
    /// How much identical rows differ beyond what their launches explain: a standard deviation of logarithms. It widens
    /// every interval and enters every test. It makes nothing equivalent.
    pub drift: f64,
    /// Whether the sides were measured on different hosts, so that what all rows have in common is a result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hosts_differ: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { alpha: ALPHA, minimum_effect: MINIMUM_EFFECT, drift: 0.0, hosts_differ: false }
    }
}

/// The default share of false discoveries that is tolerated; in comparisons of identical rows, this share looks
/// different by chance.
pub const ALPHA: f64 = 0.05;

/// The default smallest change that matters (MEASURING.md section 2.7).
pub const MINIMUM_EFFECT: f64 = 0.02;

impl Rules {
    /// Returns these rules for a machine with this drift.
    #[must_use]
    pub fn with_drift(self, drift: f64) -> Rules {
        Rules { drift, ..self }
    }

    /// Returns the noise floor as a share: 19 of 20 equal rows differ by less, however many launches they have. A
    /// smaller change is not found, and nothing is called equivalent within less.
    pub fn noise_floor(&self) -> f64 {
        (1.96 * self.drift).exp_m1()
    }
}

/// One metric of one row, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct RowComparison {
    /// The row of the candidate.
    pub row: Row,
    /// The common part of both rows' ids.
    pub label: String,
    /// The metric.
    pub metric: Metric,
    /// The baseline's median with its interval.
    pub baseline: Estimate,
    /// The candidate's median with its interval.
    pub candidate: Estimate,
    /// Candidate over baseline; absent if a value is zero or negative.
    pub ratio: Option<Ratio>,
    /// The test's p-value adjusted for the family (Benjamini and Hochberg); absent outside the family.
    pub p_adjusted: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The hosts of the row, if hosts are the replicates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<OverHosts>,
}

/// The ratio of the sides with its interval: by Hodges and Lehmann, of the logarithms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Ratio {
    /// Candidate over baseline.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The coverage of the interval, 0..1: at least 1 - alpha, or less if there are too few launches.
    pub confidence: f64,
    /// Common blocks, or the launches of the side that has fewer; hosts, if they are the replicates.
    pub n: u32,
    /// Whether the ratio is taken within blocks, or within hosts.
    pub paired: bool,
    /// The p-value: the smallest level at which the interval would exclude 1. It is that of the exact test: Wilcoxon's
    /// of signed ranks within blocks, Mann and Whitney's of independent launches. On a drifting machine it is at least
    /// that of the drift. Of fewer than twenty hosts it is that of Student's test.
    pub p: f64,
    /// The smallest p-value that is possible with this number of launches.
    pub p_reachable: f64,
}

/// The verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate is better, by at least the minimum effect.
    Better,
    /// The candidate is worse, by at least the minimum effect.
    Worse,
    /// The whole interval is within the minimum effect.
    Equivalent,
    /// The data decide neither.
    Inconclusive {
        /// The estimated number of further blocks that would decide; absent if it is more than ten times the present
        /// number, or no number would.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        more_blocks: Option<u32>,
        /// The same in further hosts, if hosts are the replicates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        more_hosts: Option<u32>,
        /// The launches alone would decide, but the noise floor of the machine is larger than the difference.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        below_floor: bool,
    },
    /// Not judged: a metric other than the row's own figure.
    Unjudged,
}

impl Verdict {
    /// Undecided, with no estimate of what would decide.
    pub const OPEN: Verdict = Verdict::Inconclusive { more_blocks: None, more_hosts: None, below_floor: false };

    /// Returns the name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Equivalent => "equivalent",
            Verdict::Inconclusive { .. } => "inconclusive",
            Verdict::Unjudged => "unjudged",
        }
    }
}

/// A row that could not be compared, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The row's id.
    pub row: String,
    /// The kind of reason.
    pub kind: LeftOutKind,
    /// The reason, in words.
    pub reason: String,
}

/// The reason for which a row could not be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LeftOutKind {
    /// The other side does not plan the row: one level of a factor within a run, or a row that only the candidate has.
    OneSided,
    /// The candidate was measured in other runs than the baseline, and they do not plan the row.
    Missing,
    /// The row was skipped, failed, or was not reached.
    NotMeasured,
    /// The two sides have different definitions of the row.
    Incomparable,
}

impl LeftOut {
    /// Makes the entry for a row that `other` does not have.
    fn of_other(kind: LeftOutKind, row: &Row, other: &str) -> LeftOut {
        LeftOut { row: row.id.clone(), kind, reason: format!("{other} has no such row") }
    }
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Side<'a> {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub members: Vec<Member<'a>>,
}

/// A row of a side.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The label that it shares with its counterpart on the other side: the row's id without the factor by which the
    /// sides differ. Unique in its side.
    pub label: String,
    /// The runs of its launches: sides of the same runs were measured in the same blocks.
    pub runs: Vec<usize>,
    /// The row, with block numbers that are unique among the runs.
    pub result: Cow<'a, RowResult>,
}

/// Compares the rows that both sides have.
pub fn compare(baseline: &Side<'_>, candidate: &Side<'_>, rules: Rules) -> Comparison {
    compare_on(NonZero::<usize>::MIN, baseline, candidate, rules)
}

/// Compares like [`compare`], on the given number of threads; the result is the same.
pub fn compare_on(threads: NonZero<usize>, baseline: &Side<'_>, candidate: &Side<'_>, rules: Rules) -> Comparison {
    let mut rows = Vec::new();
    let mut samples = Vec::new();
    let mut left_out = Vec::new();
    let of_candidate: BTreeMap<&str, &Member<'_>> =
        candidate.members.iter().map(|member| (member.label.as_str(), member)).collect();
    let runs_of_candidate: BTreeSet<usize> =
        candidate.members.iter().flat_map(|member| &member.runs).copied().collect();
    for before in &baseline.members {
        let Some(after) = of_candidate.get(before.label.as_str()) else {
            // Two transports of one run need not have the same rows. Two runs are meant to.
            let kind = match before.runs.iter().any(|run| runs_of_candidate.contains(run)) {
                true => LeftOutKind::OneSided,
                false => LeftOutKind::Missing,
            };
            left_out.push(LeftOut::of_other(kind, &before.result.row, &candidate.name));
            continue;
        };
        match counterparts(&before.result, &after.result, [&baseline.name, &candidate.name]) {
            Ok(metrics) => rows.extend(metrics.into_iter().enumerate().map(|(place, (from, to))| {
                samples.push(match before.runs == after.runs {
                    true => Sample::paired(from, to),
                    false => Sample::independent(from, to),
                });
                RowComparison {
                    row: after.result.row.clone(),
                    label: before.label.clone(),
                    metric: to.metric.clone(),
                    baseline: from.estimate,
                    candidate: to.estimate,
                    ratio: None,
                    p_adjusted: None,
                    // Only a row's own figure is judged. The verdict is determined later.
                    verdict: if place == 0 { Verdict::OPEN } else { Verdict::Unjudged },
                    hosts: None,
                }
            })),
            Err((kind, reason)) => left_out.push(LeftOut { row: after.result.row.id.clone(), kind, reason }),
        }
    }
    let of_baseline: BTreeSet<&str> = baseline.members.iter().map(|member| member.label.as_str()).collect();
    let unknown = candidate.members.iter().filter(|member| !of_baseline.contains(member.label.as_str()));
    let of_candidate_only =
        |member: &Member<'_>| LeftOut::of_other(LeftOutKind::OneSided, &member.result.row, &baseline.name);
    left_out.extend(unknown.map(of_candidate_only));
    for (row, ratio) in rows.iter_mut().zip(ratios(&samples, rules.alpha, threads)) {
        row.ratio = ratio;
    }
    let together = together(&rows, &samples, rules.alpha);
    judge_family(&mut rows, &together, None, Rules { drift: 0.0, ..rules });
    let movement = if rules.hosts_differ { None } else { Movement::of(&rows) };
    let rules = rules.with_drift(movement.map_or(0.0, |movement| movement.deviation).max(rules.drift));
    let resemblance = Resemblance::of(&samples);
    if rules.drift > 0.0 || movement.is_some() || resemblance.is_some() {
        judge_with_drift(&mut rows, together, movement, resemblance, rules);
    }
    let geometric_mean = geometric_mean::of_launches(baseline, candidate, resemblance, rules);
    let [baseline, candidate] = [baseline, candidate].map(|side| side.name.clone());
    Comparison { baseline, candidate, rules, rows, left_out, geometric_mean, hosts: None, movement, resemblance }
}

/// Computes the ratio of every sample; each thread takes a part of equal length.
fn ratios(samples: &[Option<Sample>], alpha: f64, threads: NonZero<usize>) -> Vec<Option<Ratio>> {
    let part_of = |part: &[Option<Sample>]| -> Vec<Option<Ratio>> {
        let mut ratios = Ratios::at(alpha);
        part.iter().map(|sample| ratios.of(sample.as_ref()?)).collect()
    };
    // Starting a thread takes as long as some rows.
    const ROWS_OF_A_THREAD: usize = 1000;
    let part = samples.len().div_ceil(threads.get()).max(ROWS_OF_A_THREAD);
    std::thread::scope(|scope| {
        let running: Vec<_> = samples.chunks(part).map(|part| scope.spawn(|| part_of(part))).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("it does not panic")).collect()
    })
}

/// Returns the metrics that both rows have, the row's own first, or the reason why the rows cannot be compared.
fn counterparts<'a>(
    before: &'a RowResult,
    after: &'a RowResult,
    names: [&str; 2],
) -> Result<Vec<(&'a MetricResult, &'a MetricResult)>, (LeftOutKind, String)> {
    if before.row.pattern_definition() != after.row.pattern_definition() {
        let [(from, first), (to, second)] =
            [(before.row.definition_version, names[0]), (after.row.definition_version, names[1])];
        let reason =
            format!("measured by definition {from} in {first} and {to} in {second}: measure one of them again");
        return Err((LeftOutKind::Incomparable, reason));
    }
    for (result, name) in [(before, names[0]), (after, names[1])] {
        let reason = match &result.outcome {
            RowOutcome::Measured => continue,
            RowOutcome::Skipped { reason } => format!("skipped in {name}: {reason}"),
            RowOutcome::Failed { reason } => format!("failed in {name}: {reason}"),
            RowOutcome::Pending => format!("{name} ended before its turn"),
        };
        return Err((LeftOutKind::NotMeasured, reason));
    }
    let pairs: Vec<_> = before
        .metrics
        .iter()
        .filter_map(|from| Some((from, after.metrics.iter().find(|to| to.metric == from.metric)?)))
        .collect();
    let same_own = pairs.first().is_some_and(|(from, _)| Some(&from.metric) == before.row.metrics.first());
    if same_own {
        return Ok(pairs);
    }
    Err((LeftOutKind::Incomparable, "the sides measured different quantities".to_owned()))
}

/// Returns the places of the rows that are tested.
fn family_of(rows: &[RowComparison]) -> Vec<usize> {
    let is_judged = |row: &RowComparison| row.verdict != Verdict::Unjudged && row.ratio.is_some();
    (0..rows.len()).filter(|&at| is_judged(&rows[at])).collect()
}

/// Tests the rows of the same blocks together.
fn together(rows: &[RowComparison], samples: &[Option<Sample>], alpha: f64) -> Together {
    let row = |at: usize| {
        let ratio = rows[at].ratio?;
        let differences = match &samples[at] {
            Some(Sample::Paired(differences)) => Some(&differences[..]),
            _ => None,
        };
        Some((ratio.p, ratio.p_reachable, differences))
    };
    Together::of(&family_of(rows).into_iter().filter_map(row).collect::<Vec<_>>(), alpha)
}

/// Judges rows on a drifting machine, after they were judged by their launches alone, and marks those that the drift
/// hides.
fn judge_with_drift(
    rows: &mut [RowComparison],
    together: Together,
    movement: Option<Movement>,
    resemblance: Option<Resemblance>,
    rules: Rules,
) {
    let of_launches: Vec<Verdict> = rows.iter().map(|row| row.verdict).collect();
    let deviate = normal_quantile(1.0 - rules.alpha / 2.0);
    // The larger one of what the rows show and what is known from elsewhere.
    let seen =
        movement.filter(|movement| movement.deviation >= rules.drift).map(|movement| movement.spread(rules.alpha));
    let spread = seen.unwrap_or(Spread::known(rules.drift, rules.alpha));
    let mut bounds = vec![0.0; rows.len()];
    for (row, bound) in rows.iter_mut().zip(&mut bounds) {
        if let Some(ratio) = &mut row.ratio {
            let moved = movement.map_or(0.0, |movement| movement.of_figure(row.metric.better));
            (*ratio, *bound) = ratio.on_drifting_machine(spread, moved, resemblance, deviate);
        }
    }
    let together = together.at_least(family_of(rows).into_iter().map(|at| bounds[at]));
    judge_family(rows, &together, movement, rules);
    for (row, of_launches) in rows.iter_mut().zip(of_launches) {
        let was_decided = !matches!(of_launches, Verdict::Inconclusive { .. });
        if let Verdict::Inconclusive { below_floor, .. } = &mut row.verdict {
            *below_floor = was_decided;
        }
    }
}

/// Adjusts the p-values of the family and determines the verdicts.
fn judge(rows: &mut [RowComparison], rules: Rules) {
    judge_family(rows, &Together::default(), None, rules);
}

fn judge_family(rows: &mut [RowComparison], together: &Together, movement: Option<Movement>, rules: Rules) {
    let in_family = family_of(rows);
    let tests: Vec<(f64, f64)> =
        in_family.iter().filter_map(|&at| rows[at].ratio).map(|ratio| (ratio.p, ratio.p_reachable)).collect();
    for (&at, member) in in_family.iter().zip(together.judge(&tests, rules.alpha)) {
        let row = &mut rows[at];
        row.p_adjusted = Some(member.p_adjusted);
        if let Some(ratio) = row.ratio {
            let better = row.metric.better;
            let moved = movement.map_or(0.0, |movement| movement.of_figure(better));
            row.verdict = verdict::verdict(&ratio, member, tests.len(), moved, better, rules);
        }
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
