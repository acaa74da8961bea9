//! Reads and writes traces: the consumer that copies events of programs out of a session's memory, traces in CTF,
//! kernel sessions over tracefs, statistics and exports.
//!
//! The `headwater` command uses it. A program with events links only `headwater-trace`. Records of programs and of the
//! kernel have the same form ([`record`]) and the same kind of description ([`schema`]), so that writers, readers and
//! exports do not depend on the origin of records.
#![forbid(unsafe_code)]

pub mod consumer;
pub mod ctf;
pub mod export;
pub mod filter;
pub mod kernel;
pub mod names;
mod parts_file;
pub mod schema;
mod shape;
pub mod stacks;
pub mod stat;
#[cfg(test)]
mod testing;
mod value;

pub use headwater_trace::record;
pub use shape::Shape;
pub use value::{Fields, Items, Value};
