//! The comparison of two measurements of the same rows: ratios with intervals, p-values over the family, verdicts.
//! Called by `compare`, `noise` and `run --against`; drawn by report. It reads no file and prints nothing.
//!
//! Replicates are launches. Where both sides were measured in the same blocks the ratio is paired within the block, so
//! that drift of the machine cancels; two runs one after the other share no blocks, and their ratio is that of two
//! independent samples (MEASURING.md sections 2.3, 2.6 and 2.7).

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::schema::{Metric, Row};

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
    /// Blocks that both have, or the launches of the side that has fewer.
    pub n: u32,
    /// Whether the ratio is taken within blocks.
    pub paired: bool,
    /// p-value of the exact test: sign flips of paired ratios, ranks of independent launches.
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

/// A row that could not be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The row's id.
    pub row: String,
    /// Why, in words.
    pub reason: String,
}
