//! The comparison of two measurements of the same rows: ratios with intervals, p-values over the family, verdicts.
//! Called by `compare`, `noise` and `run --against`; drawn by report. It reads no file and prints nothing.
//!
//! Replicates are launches. Where both sides were measured in the same blocks the ratio is paired within the block, so
//! that drift of the machine cancels; two runs one after the other share no blocks, and their ratio is that of two
//! independent samples (MEASURING.md sections 2.3, 2.6 and 2.7).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::resample::student_below;
use crate::schema::{Metric, MetricResult, Row, RowOutcome, RowResult};
use crate::significance::family;
use ratio::{Ratios, Sample};

pub mod environment;
pub mod factor;
pub mod noise;
pub mod ratio;
mod verdict;

/// Two measurements compared, row by row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// What is compared with: the name of a run, or of one level of a factor.
    pub baseline: String,
    /// What is judged.
    pub candidate: String,
    /// The rules.
    pub rules: Rules,
    /// Every metric of every row that both have, in the order of the baseline. The first metric of a row is its own figure
    /// and belongs to the family of tests; the others are shown and never judged.
    pub rows: Vec<RowComparison>,
    /// Rows that could not be compared, with the reason in words.
    pub left_out: Vec<LeftOut>,
}

/// The rules of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Rules {
    /// Share of false discoveries among the rows called different that is tolerated, 0..1.
    pub alpha: f64,
    /// The least change that matters, as a share: 0.02 means that 2 % either way are equivalent.
    pub minimum_effect: f64,
    /// How much identical rows differ beyond what their launches explain: a standard deviation of logarithms. It counts in
    /// every test and in the minimum effect.
    pub drift: f64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { alpha: ALPHA, minimum_effect: MINIMUM_EFFECT, drift: 0.0 }
    }
}

/// The share of false discoveries that is tolerated unless the user says otherwise; of identical rows so many look different
/// by chance.
pub const ALPHA: f64 = 0.05;

/// The least change that matters unless the machine's noise is larger (MEASURING.md section 2.7).
pub const MINIMUM_EFFECT: f64 = 0.02;

impl Rules {
    /// These rules on a machine with this drift: changes that 19 of 20 drifts stay below do not count as changes.
    #[must_use]
    pub fn with_drift(self, drift: f64) -> Rules {
        let noise_floor = (1.96 * drift).exp_m1();
        Rules { drift, minimum_effect: self.minimum_effect.max(noise_floor), ..self }
    }
}

/// One metric of one row, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct RowComparison {
    /// The row as the candidate has it.
    pub row: Row,
    /// What both rows share of their ids.
    pub label: String,
    /// The metric.
    pub metric: Metric,
    /// The baseline's median with its interval.
    pub baseline: Estimate,
    /// The candidate's.
    pub candidate: Estimate,
    /// Candidate over baseline; absent where a value is zero or negative.
    pub ratio: Option<Ratio>,
    /// The test's p-value adjusted for the family (Benjamini and Hochberg); absent outside the family.
    pub p_adjusted: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

/// A ratio of geometric means with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Ratio {
    /// Candidate over baseline.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Standard error of the ratio's logarithm; absent where a side has a single launch.
    pub standard_error: Option<f64>,
    /// Blocks that both have, or the launches of the side that has fewer.
    pub n: u32,
    /// Whether the ratio is taken within blocks.
    pub paired: bool,
    /// p-value of the exact test: sign flips of paired ratios, ranks of independent launches. Where the machine drifts, at
    /// least that of the drift.
    pub p: f64,
    /// The smallest p-value that so many launches can give.
    pub p_reachable: f64,
}

/// What may be said of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate is better, by at least the minimum effect.
    Better,
    /// The candidate is worse, by at least the minimum effect.
    Worse,
    /// The whole interval lies within the minimum effect.
    Equivalent,
    /// Neither can be said.
    Inconclusive {
        /// About how many blocks more would decide; absent where more than ten times as many, or none, would.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        more_blocks: Option<u32>,
    },
    /// Not judged: a metric beside the row's own.
    Unjudged,
}

impl Verdict {
    /// The name used in tables and files.
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

/// A row that could not be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The row's id.
    pub row: String,
    /// What kind of reason.
    pub kind: LeftOutKind,
    /// Why, in words.
    pub reason: String,
}

/// Why a row could not be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LeftOutKind {
    /// The other side never set out to measure it.
    OneSided,
    /// It was skipped, failed or had no turn.
    NotMeasured,
    /// The sides measured different things.
    Incomparable,
}

impl LeftOut {
    /// A row that `other` does not have.
    fn one_sided(row: &Row, other: &str) -> LeftOut {
        LeftOut { row: row.id.clone(), kind: LeftOutKind::OneSided, reason: format!("{other} has no such row") }
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
    /// What it shares with its counterpart on the other side: the row's id, or what is left of it without the factor by
    /// which the sides differ. Unique in its side.
    pub label: String,
    /// Which runs its launches are of: sides of the same runs were measured in the same blocks.
    pub runs: Vec<usize>,
    /// The row, with block numbers that tell its runs apart.
    pub result: Cow<'a, RowResult>,
}

/// Compares the rows that both sides have.
pub fn compare(baseline: &Side<'_>, candidate: &Side<'_>, rules: Rules) -> Comparison {
    compare_on(NonZero::<usize>::MIN, baseline, candidate, rules)
}

/// As [`compare`], on so many threads; the result is the same.
pub fn compare_on(threads: NonZero<usize>, baseline: &Side<'_>, candidate: &Side<'_>, rules: Rules) -> Comparison {
    let mut rows = Vec::new();
    let mut samples = Vec::new();
    let mut left_out = Vec::new();
    let of_candidate: BTreeMap<&str, &Member<'_>> =
        candidate.members.iter().map(|member| (member.label.as_str(), member)).collect();
    for before in &baseline.members {
        let Some(after) = of_candidate.get(before.label.as_str()) else {
            left_out.push(LeftOut::one_sided(&before.result.row, &candidate.name));
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
                    // Only a row's own figure is judged; here all that is known is which that is.
                    verdict: if place == 0 { Verdict::Inconclusive { more_blocks: None } } else { Verdict::Unjudged },
                }
            })),
            Err((kind, reason)) => left_out.push(LeftOut { row: after.result.row.id.clone(), kind, reason }),
        }
    }
    let of_baseline: BTreeSet<&str> = baseline.members.iter().map(|member| member.label.as_str()).collect();
    let unknown = candidate.members.iter().filter(|member| !of_baseline.contains(member.label.as_str()));
    left_out.extend(unknown.map(|member| LeftOut::one_sided(&member.result.row, &baseline.name)));
    for (row, ratio) in rows.iter_mut().zip(ratios(&samples, rules.drift, threads)) {
        row.ratio = ratio;
    }
    judge(&mut rows, rules);
    Comparison { baseline: baseline.name.clone(), candidate: candidate.name.clone(), rules, rows, left_out }
}

/// The ratio of every sample, each thread taking a part of equal length.
fn ratios(samples: &[Option<Sample>], drift: f64, threads: NonZero<usize>) -> Vec<Option<Ratio>> {
    let part_of = |part: &[Option<Sample>]| -> Vec<Option<Ratio>> {
        let mut ratios = Ratios::default();
        part.iter().map(|sample| sample.as_ref().map(|sample| with_drift(ratios.of(sample), sample, drift))).collect()
    };
    // A thread draws resamples of its own, which takes as long as a few hundred rows.
    const ROWS_OF_A_THREAD: usize = 1000;
    let part = samples.len().div_ceil(threads.get()).max(ROWS_OF_A_THREAD);
    std::thread::scope(|scope| {
        let running: Vec<_> = samples.chunks(part).map(|part| scope.spawn(|| part_of(part))).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("it does not panic")).collect()
    })
}

/// The metrics that both rows have, the row's own first; or why the rows cannot be compared.
fn counterparts<'a>(
    before: &'a RowResult,
    after: &'a RowResult,
    names: [&str; 2],
) -> Result<Vec<(&'a MetricResult, &'a MetricResult)>, (LeftOutKind, String)> {
    let versions = [before.row.definition_version, after.row.definition_version];
    if versions[0] != versions[1] {
        let [(from, first), (to, second)] = [(versions[0], names[0]), (versions[1], names[1])];
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

/// The test may claim no more than the drift allows: the deviate of both variances bounds the p-value from below.
fn with_drift(ratio: Ratio, sample: &Sample, drift: f64) -> Ratio {
    let Some(error) = sample.standard_error() else { return ratio };
    if drift <= 0.0 {
        return ratio;
    }
    let deviate = sample.centre().abs() / error.hypot(drift);
    let p = 2.0 * (1.0 - student_below(deviate, sample.freedom() as f64));
    Ratio { p: ratio.p.max(p), ..ratio }
}

/// Adjusts the p-values of the family and gives the verdicts.
fn judge(rows: &mut [RowComparison], rules: Rules) {
    let judged = |row: &RowComparison| row.verdict != Verdict::Unjudged && row.ratio.is_some();
    let in_family: Vec<usize> = (0..rows.len()).filter(|&at| judged(&rows[at])).collect();
    let tests: Vec<(f64, f64)> =
        in_family.iter().filter_map(|&at| rows[at].ratio).map(|ratio| (ratio.p, ratio.p_reachable)).collect();
    for (&at, member) in in_family.iter().zip(family::judge(&tests, rules.alpha)) {
        let row = &mut rows[at];
        row.p_adjusted = Some(member.p_adjusted);
        if let Some(ratio) = row.ratio {
            row.verdict = verdict::verdict(&ratio, member, tests.len(), row.metric.better, rules);
        }
    }
}

#[cfg(test)]
mod tests;
