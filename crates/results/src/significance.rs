//! Exact tests, and what they mean for many rows at once. Called by the comparison.
//!
//! [`sign_flip`] is for paired ratios, [`ranks`] for pairs and for independent launches, [`family`] for all rows
//! together. None assumes a distribution: what is counted is how many of the equally likely rearrangements of the data
//! would look at least as different.

pub mod family;
pub mod ranks;
pub mod sign_flip;
