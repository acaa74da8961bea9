//! Flags for the batches of a launch: their number, and whether the clock's step is visible.

use super::Flag;
use crate::estimate::{median_of_sorted, sorted_finite};

/// With fewer batches, two disturbed ones change the launch's median.
pub const BATCHES_MIN: u64 = 5;

/// The share of a batch from which the clock's step matters: half the smallest effect of a verdict. Batches are planned
/// for a tenth of it (MEASURING 2.1).
pub const STEP_SHARE_MAX: f64 = 0.01;

/// With fewer batches, a grid cannot be recognised: some coincide by chance.
const GRID_BATCHES_MIN: usize = 20;

/// Durations within this relative difference are the same one, computed differently.
const SAME: f64 = 1e-9;

/// The resolution of the batches of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchResolution {
    /// The smallest step between batches, ns; zero if they do not lie on a grid.
    pub step_ns: f64,
    /// Median duration of a batch, ns.
    pub batch_ns: f64,
}

/// Returns the resolution of batches with these durations in ns. They lie on a grid if at most half of them differ from
/// all others. `None` without a positive duration.
pub fn batch_resolution(durations_ns: &[f64]) -> Option<BatchResolution> {
    let sorted = sorted_finite(durations_ns);
    let batch_ns = median_of_sorted(&sorted).filter(|&batch| batch > 0.0)?;
    let gaps = || sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > SAME * batch_ns);
    let distinct = 1 + gaps().count();
    let on_grid = sorted.len() >= GRID_BATCHES_MIN && (2..=sorted.len() / 2).contains(&distinct);
    let step_ns = if on_grid { gaps().fold(f64::INFINITY, f64::min) } else { 0.0 };
    Some(BatchResolution { step_ns, batch_ns })
}

/// Set if the step of the clock, as measured before the run or as seen in the batches, exceeds [`STEP_SHARE_MAX`].
pub fn quantised(resolution: BatchResolution, clock_step_ns: f64) -> Option<Flag> {
    let step_ns = resolution.step_ns.max(clock_step_ns);
    let matters = step_ns.is_finite() && step_ns > STEP_SHARE_MAX * resolution.batch_ns;
    matters.then_some(Flag::Quantised { step_ns, batch_ns: resolution.batch_ns })
}

/// Set if the launch with the fewest batches has fewer than [`BATCHES_MIN`].
pub fn too_few_samples(n: u64) -> Option<Flag> {
    (n < BATCHES_MIN).then_some(Flag::TooFewSamples { n })
}

#[cfg(test)]
mod tests;
