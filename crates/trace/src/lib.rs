//! The tracer: what programs and the kernel did, when, at a cost that can be said.
//!
//! Records of programs and of the kernel have one form ([`record`]) and are described in one way ([`schema`]), so that what
//! writes, reads, shows and exports a trace knows neither where its records come from.
#![forbid(unsafe_code)]

pub mod kernel;
pub mod names;
pub mod record;
pub mod schema;
