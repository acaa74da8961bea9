//! Decides whether two programs that should measure the same agree, from the ratio of their figures. Used by both
//! crosschecks.

use headwater_results::estimate::Estimate;

/// The largest difference of two figures that agree.
pub const TOLERANCE: f64 = 0.05;

/// Whether two figures with this ratio agree.
pub fn is_within(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= TOLERANCE
}

/// Returns the result in words, from median and interval.
pub fn verdict(estimate: &Estimate) -> &'static str {
    match (is_within(estimate.median), is_within(estimate.low) && is_within(estimate.high)) {
        (true, true) => "yes, with its interval",
        (true, false) => "yes, its interval reaches further",
        (false, _) if estimate.low <= 1.0 && estimate.high >= 1.0 => "cannot be told apart",
        (false, _) => "no",
    }
}

#[cfg(test)]
mod tests;
