//! The data model and the statistics of a measurement: samples, histograms, estimates, intervals, flags, and the schema
//! in which a run is stored.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no environment, no `unsafe`. [`parse`] turns
//! stored text into [`schema::Event`]s, and [`summary`] folds these into a [`schema::Run`], with [`estimate`],
//! [`histogram`] and [`flags`].
#![forbid(unsafe_code)]

pub mod compare;
pub mod estimate;
pub mod fit;
pub mod flags;
pub mod foreign;
pub mod histogram;
pub mod history;
#[cfg(feature = "json-schema")]
pub mod json_schema;
mod normal;
pub mod origin;
pub mod overhead;
pub mod parse;
pub mod published;
pub mod random;
pub mod schema;
pub mod significance;
pub mod sorting;
pub mod summary;

#[cfg(test)]
mod testing;
