//! Whether two programs that ought to measure the same do so: judged by the ratio of their figures. Both crosschecks call it.

use headwater_results::estimate::Estimate;

/// How far the two may be apart.
pub const TOLERANCE: f64 = 0.05;

/// Whether a ratio is that of two that agree.
pub fn is_within(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= TOLERANCE
}

/// What median and interval say together.
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
