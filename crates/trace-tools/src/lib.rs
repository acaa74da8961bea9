//! What reads and writes traces: the consumer that copies the events of programs out of a session's memory, traces in CTF,
//! kernel sessions over tracefs, statistics and exports.
//!
//! The `headwater` command uses it. A program that has events links `headwater-trace` alone. Records of programs and of the
//! kernel have one form ([`record`]) and are described in one way ([`schema`]), so that what writes, reads, shows and exports
//! a trace does not know where its records come from.
#![forbid(unsafe_code)]

pub mod consumer;
pub mod ctf;
pub mod export;
pub mod kernel;
pub mod names;
pub mod schema;
mod shape;
pub mod stat;
#[cfg(test)]
mod testing;
mod value;

pub use headwater_trace::record;
pub use shape::Shape;
pub use value::{Fields, Items, Value};
