//! The gauge: measures every local transport, synchronisation primitive and basic operation of a machine. A plan becomes
//! launches; a launch becomes a record.
//!
//! The command `headwater` calls it. It knows no command line and no stored run, and prints nothing.
#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod environment;
pub mod facilities;
pub mod harness;
pub mod patterns;
pub mod plan;
pub mod suites;
pub mod transports;
