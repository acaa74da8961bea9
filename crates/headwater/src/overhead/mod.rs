//! `headwater overhead`: what tracing costs a command. Blocks in which every workload and the probe run once under each
//! configuration, in random order; the records of a run as every other, so that `show` and `compare` read them.
//!
//! Called by `cli/overhead.rs`; what the figures mean is the business of [`headwater_results::overhead`].

pub mod arms;
pub mod block_runner;
pub mod kernel;
pub mod rows;
pub mod timed;
pub mod tool;
pub mod user;
pub mod workloads;
