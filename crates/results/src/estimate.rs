//! The median over launches with its exact interval. Called by the fold that makes a run, and by whoever draws one.
//!
//! The interval is that of order statistics: it assumes that launches are independent and nothing else, neither a
//! normal distribution nor a common variance. It never resamples and never drops an outlier.

use serde::{Deserialize, Serialize};

/// Coverage that an interval must reach when there are enough launches, 0..1.
pub const COVERAGE_MIN: f64 = 0.95;

/// A median and the interval that holds the true one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Median of the values, in their unit.
    pub median: f64,
    /// Lower end of the interval, one of the values.
    pub low: f64,
    /// Upper end of the interval, one of the values.
    pub high: f64,
    /// The coverage that the interval really has, 0..1: at least [`COVERAGE_MIN`] from six values on, less below.
    pub confidence: f64,
    /// How many finite values there were.
    pub n: u32,
}
