//! The library behind the `headwater` command: its command line, and what it does with runs and recordings. `headwater_gauge`
//! measures. ARCHITECTURE.md describes the parts.
//!
//! The release build optimises this crate for size, so nothing here is part of a timed loop.
#![deny(unsafe_code)]
// `cli::output` prints: it knows a reader that has left from a failure.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod against;
pub mod cli;
pub mod compare;
pub mod doctor;
pub mod import;
pub mod noise;
pub mod overhead;
pub mod replace;
pub mod sources;
pub mod store;
pub mod stored_commands;
pub mod trace;
