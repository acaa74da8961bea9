//! How far two samples are apart, how sure that is, and what it means for many rows at once. Called by the comparison.
//!
//! [`shift`] is the one statistic of a comparison: its estimate, its interval and its p-value are read off the same pairs.
//! [`null_counts`] is what is expected of it where nothing differs, [`family`] judges all rows together. None assumes a
//! normal distribution: what is counted is how many of the equally likely rearrangements of the data would look at least as
//! different.

pub mod family;
mod null_counts;
pub mod shift;
