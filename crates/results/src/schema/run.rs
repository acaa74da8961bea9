//! `run.json`: a run with its estimates, computed from the events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Environment, Metric, Row, RunHeader, RunStatus};
use crate::estimate::Estimate;
use crate::flags::Flag;

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// The plan, with the environment before the run.
    #[serde(flatten)]
    pub header: RunHeader,
    /// How it ended.
    pub status: RunStatus,
    /// The environment afterwards, if the run was completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_after: Option<Environment>,
    /// All rows with their outcomes, including skipped ones.
    pub results: Vec<RowResult>,
}

impl Run {
    /// Returns whether the other is this run: under another name, a copy, or the same run with more launches.
    pub fn is_same(&self, other: &Run) -> bool {
        let agree = |(one, other): (&RowResult, &RowResult)| {
            let mut metrics = one.metrics.iter().zip(&other.metrics);
            one.row.id == other.row.id
                && metrics.all(|(one, other)| one.launches.iter().zip(&other.launches).all(|(a, b)| a == b))
        };
        self.header.identity() == other.header.identity() && self.results.iter().zip(&other.results).all(agree)
    }

    /// Returns the rows of each variant as a separate run, in the order in which variants appear; none if the run has
    /// no variants.
    pub fn variants(&self) -> Vec<(String, Run)> {
        let mut parts: Vec<(String, Run)> = Vec::new();
        for result in &self.results {
            let Some(variant) = &result.row.variant else { continue };
            let at = parts.iter().position(|(name, _)| name == variant).unwrap_or(parts.len());
            if at == parts.len() {
                parts.push((variant.clone(), Run { results: Vec::new(), ..self.clone() }));
            }
            let mut result = result.clone();
            result.row.variant = None;
            parts[at].1.results.push(result);
        }
        parts
    }
}

/// The outcome of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct RowResult {
    /// The row.
    pub row: Row,
    /// Measured, skipped or failed.
    pub outcome: RowOutcome,
    /// Estimates, one per metric that has launches; the first is the row's own figure. Empty unless measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricResult>,
    /// Percentiles of individual durations by metric, ns, merged over launches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub percentiles: BTreeMap<String, Vec<Percentile>>,
    /// Median over launches of each counter of [`super::LaunchRecord::counters`], and the same per 1000 operations if
    /// the name ends in `_per_1000`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
    /// Reasons for caution about the figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// Reasons of launches that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

impl RowResult {
    /// Returns the row's own figure.
    ///
    /// # Errors
    /// The reason for which there is none.
    pub fn own_metric(&self) -> Result<&MetricResult, String> {
        match &self.outcome {
            RowOutcome::Measured => {}
            RowOutcome::Skipped { reason } => return Err(format!("skipped: {reason}")),
            RowOutcome::Failed { reason } => return Err(format!("failed: {reason}")),
            RowOutcome::Pending => return Err("the run ended before its turn".to_owned()),
        }
        let own = self.row.metrics.first();
        let metric = self.metrics.iter().find(|metric| Some(&metric.metric) == own);
        metric.ok_or_else(|| "the run has no figure of it".to_owned())
    }
}

/// The outcome of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum RowOutcome {
    /// At least one launch finished.
    Measured,
    /// The machine cannot run it.
    Skipped {
        /// The reason.
        reason: String,
    },
    /// No launch finished.
    Failed {
        /// What happened.
        reason: String,
    },
    /// The run ended before this row was measured.
    Pending,
}

/// One metric's estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct MetricResult {
    /// Name, unit and direction.
    #[serde(flatten)]
    pub metric: Metric,
    /// Median over launches with its interval.
    pub estimate: Estimate,
    /// One value per launch (the median of its batches), in block order.
    pub launches: Vec<f64>,
    /// The block of each of [`MetricResult::launches`]: rows are compared by their ratio within a block. A block in
    /// which a launch failed is missing.
    pub blocks: Vec<u32>,
}

/// One percentile of individual durations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Percentile {
    /// 0..100.
    pub percent: f64,
    /// The value, ns.
    pub value_ns: f64,
}
