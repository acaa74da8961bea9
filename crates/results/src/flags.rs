//! What a reader must know before trusting a figure. Called by the fold that makes a run; tables print the marks.

use serde::{Deserialize, Serialize};

/// A reason for doubt, with the numbers that justify it. Shares are 0..1 of the whole machine's CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "flag", rename_all = "snake_case")]
pub enum Flag {
    /// Too few launches for an interval of 95 %.
    FewLaunches {
        /// Launches that gave a value.
        n: u32,
    },
    /// Warm-up ended at its cap, not because the batches had levelled off.
    NotSteady {
        /// In how many launches.
        launches: u32,
    },
    /// A launch resembles the one before it, so the interval is narrower than it should be.
    Autocorrelated {
        /// Correlation of successive launches, -1..1.
        lag1: f64,
    },
    /// The launches drift.
    Sloped {
        /// Change from the first launch to the last along the line, in percent of the median.
        per_cent: f64,
    },
    /// The launches jump to another level and stay there.
    ChangePoint {
        /// First launch of the new level, from 0.
        at_launch: u32,
        /// Median after over median before.
        ratio: f64,
    },
    /// There are two typical values, and the median is at best one of them.
    TwoModes {
        /// Median of the upper mode over that of the lower.
        ratio: f64,
        /// The lower mode, in the metric's unit.
        lower: f64,
        /// The upper mode, in the metric's unit.
        upper: f64,
    },
    /// The step of the clock is visible in the batches.
    Quantised {
        /// The step, ns.
        step_ns: f64,
        /// Median duration of a batch, ns.
        batch_ns: f64,
    },
    /// A launch has too few batches for its median to withstand a disturbance.
    TooFewSamples {
        /// Batches of the launch that has fewest.
        n: u64,
    },
    /// The hypervisor took CPU time away.
    Stolen {
        /// Mean over launches.
        share: f64,
    },
    /// Other programs took CPU time.
    ForeignLoad {
        /// Mean over launches.
        share: f64,
    },
    /// The control group's CPU quota stopped the processes.
    Throttled {
        /// Total over launches, seconds.
        seconds: f64,
    },
    /// Processes that each have a CPU of their own were pushed off it.
    InvoluntarySwitches {
        /// Mean over launches.
        per_second: f64,
    },
    /// The interval is wide.
    WideInterval {
        /// Half its width in percent of the median.
        per_cent: f64,
    },
}
