//! The tracer: what programs and the kernel did, when, at a cost that can be said.
//!
//! Records of programs and of the kernel have one form ([`record`]) and are described in one way ([`schema`]), so that what
//! writes, reads, shows and exports a trace knows neither where its records come from.
#![deny(unsafe_code)]

pub mod consumer;
pub mod ctf;
pub mod event;
pub mod export;
pub mod record;
pub mod region;
pub mod schema;
pub mod session;
mod shape;
pub mod stat;
#[cfg(test)]
mod testing;
mod value;

pub use headwater_shm::logs::WhenFull;
pub use session::{init, join, leave};
pub use shape::Shape;
pub use value::{Fields, Items, Value};
