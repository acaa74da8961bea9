//! The values of a measurement and what may be concluded from them: samples, histograms, estimates, intervals,
//! flags, and the schema in which a run is stored.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no environment, no `unsafe`.
#![forbid(unsafe_code)]

pub mod estimate;
pub mod flags;
pub mod schema;
