//! The values of a measurement and what may be concluded from them: samples, histograms, estimates, intervals,
//! flags, and the schema in which a run is stored.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no environment, no `unsafe`. From the stored
//! to the concluded: [`parse`] turns text into [`schema::Event`]s, [`summary`] folds those into a [`schema::Run`], and
//! on the way [`estimate`], [`histogram`] and [`flags`] say what the values are worth.
#![forbid(unsafe_code)]

pub mod compare;
pub mod estimate;
pub mod fit;
pub mod flags;
pub mod histogram;
#[cfg(feature = "json-schema")]
pub mod json_schema;
mod normal;
pub mod overhead;
pub mod parse;
pub mod published;
pub mod random;
pub mod schema;
pub mod significance;
pub mod summary;

#[cfg(test)]
mod testing;
