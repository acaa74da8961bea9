//! The difference of two samples, its uncertainty, and the adjustment for many rows. Called by the comparison.
//!
//! [`shift`] is the statistic of a comparison: its estimate, interval and p-value are derived from the same pairs.
//! [`null_counts`] is its distribution without a difference, and [`family`] judges all rows together. None assumes a
//! normal distribution: they count how many of the equally likely rearrangements of the data would look at least as
//! different.

pub mod family;
pub mod joint;
mod null_counts;
pub mod outliers;
pub mod shift;
pub mod student;
