//! Decides whether two programs that should measure the same agree, from the ratio of their figures. Used by all
//! crosschecks.

use headwater_results::estimate::Estimate;

/// The largest difference of two figures that agree.
pub const TOLERANCE: f64 = 0.05;

/// The width from which on an interval of the ratio is no evidence.
pub const WIDTH_MAX: f64 = 0.15;

/// Whether a row of the kernel agrees with a plain loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The interval of the ratio overlaps `1 - TOLERANCE .. 1 + TOLERANCE` and is narrower than [`WIDTH_MAX`].
    Agrees,
    /// The interval does not overlap that range.
    Differs,
    /// The interval overlaps it and is too wide.
    Undecided,
}

impl Agreement {
    /// Judges the ratio of two figures.
    pub fn of(ratio: &Estimate) -> Agreement {
        if ratio.low > 1.0 + TOLERANCE || ratio.high < 1.0 - TOLERANCE {
            Agreement::Differs
        } else if ratio.high - ratio.low < WIDTH_MAX {
            Agreement::Agrees
        } else {
            Agreement::Undecided
        }
    }
}

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
