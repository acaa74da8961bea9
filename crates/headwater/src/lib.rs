//! The library behind the `headwater` command. ARCHITECTURE.md describes its parts.
#![deny(unsafe_code)]
// `cli::output` prints: it knows a reader that has left from a failure.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cli;
pub mod compare;
pub mod doctor;
pub mod environment;
pub mod facilities;
pub mod harness;
pub mod import;
pub mod noise;
pub mod overhead;
pub mod patterns;
pub mod plan;
pub mod replace;
pub mod sources;
pub mod store;
pub mod suites;
pub mod trace;
pub mod transports;
