//! `headwater overhead`: measures what tracing costs a command. In each block, every workload and the probe run once
//! under each configuration, in random order. The results are stored as a run, so that `show` and `compare` can read
//! them.
//!
//! Called by `cli/overhead.rs`. [`headwater_results::overhead`] computes the costs.

pub mod arms;
pub mod block_runner;
pub mod kernel;
pub mod rows;
pub mod timed;
pub mod tool;
pub mod user;
pub mod workloads;
