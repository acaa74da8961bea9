//! Reasons for caution about a figure. Called by the fold that makes a run; tables print the marks.
//!
//! Each flag is decided by one small pure function whose threshold has a name and a reason. A flag is not set if it
//! cannot be determined: with too few values, constants, or zeros. It never changes or drops a value.

mod batches;
mod modes;
mod row;
pub(crate) mod series;

pub use batches::{BatchResolution, batch_resolution, quantised, too_few_samples};
pub use modes::{Modes, modes_of, two_modes};
pub use row::{LaunchFacts, flags_of_row};
pub use series::{autocorrelated, change_point, few_launches, sloped, wide_interval};

use serde::{Deserialize, Serialize};

/// A reason for caution, with its numbers. Shares are 0..1 of the whole machine's CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "flag", rename_all = "snake_case")]
pub enum Flag {
    /// Too few launches for an interval of 95 %.
    FewLaunches {
        /// Launches that gave a value.
        n: u32,
    },
    /// Warm-up ended at its maximum duration, although the batches had not levelled off.
    NotSteady {
        /// The number of such launches.
        launches: u32,
    },
    /// Successive launches are similar, so the interval is too narrow.
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
    /// There are two typical values; the median is at best one of them.
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
        /// Batches of the launch with the fewest.
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
    /// Processes were switched off their CPU although each has a CPU of its own.
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

impl Flag {
    /// Returns the character that marks a figure in a table; unique for each kind.
    pub fn letter(&self) -> char {
        match self {
            Flag::FewLaunches { .. } => 'f',
            Flag::NotSteady { .. } => 'u',
            Flag::Autocorrelated { .. } => 'a',
            Flag::Sloped { .. } => 's',
            Flag::ChangePoint { .. } => 'c',
            Flag::TwoModes { .. } => 'm',
            Flag::Quantised { .. } => 'q',
            Flag::TooFewSamples { .. } => 'b',
            Flag::Stolen { .. } => 'v',
            Flag::ForeignLoad { .. } => 'o',
            Flag::Throttled { .. } => 't',
            Flag::InvoluntarySwitches { .. } => 'i',
            Flag::WideInterval { .. } => 'w',
        }
    }

    /// Returns a short phrase with the numbers, for the legend of a table.
    pub fn sentence(&self) -> String {
        match *self {
            Flag::FewLaunches { n: 1 } => "a single launch: no interval".to_owned(),
            Flag::FewLaunches { n } => format!("only {n} launches: the interval covers less than 95 %"),
            Flag::NotSteady { launches: 1 } => "warm-up of 1 launch did not level off".to_owned(),
            Flag::NotSteady { launches } => format!("warm-up of {launches} launches did not level off"),
            Flag::Autocorrelated { lag1 } => {
                format!("launches resemble their predecessors (lag-1 correlation {lag1:.2})")
            }
            Flag::Sloped { per_cent } => format!("drifts by {per_cent:+.0} % over the run"),
            Flag::ChangePoint { at_launch, ratio } => {
                format!("changes to {ratio:.2} times the level at launch {}", u64::from(at_launch) + 1)
            }
            Flag::TwoModes { ratio, .. } => format!("two modes, {ratio:.1} times apart"),
            Flag::Quantised { step_ns, batch_ns } => {
                format!("clock steps of {step_ns:.0} ns show in batches of {batch_ns:.0} ns")
            }
            Flag::TooFewSamples { n: 1 } => "only 1 batch in a launch".to_owned(),
            Flag::TooFewSamples { n } => format!("only {n} batches in a launch"),
            Flag::Stolen { share } => format!("the hypervisor took {:.1} % of CPU time", share * 100.0),
            Flag::ForeignLoad { share } => format!("other programs took {:.1} % of CPU time", share * 100.0),
            Flag::Throttled { seconds } => format!("throttled by the CPU quota for {seconds:.2} s"),
            Flag::InvoluntarySwitches { per_second } => format!("{per_second:.0} involuntary switches per second"),
            Flag::WideInterval { per_cent } => format!("interval of \u{b1}{per_cent:.0} %"),
        }
    }
}

#[cfg(test)]
mod tests;
