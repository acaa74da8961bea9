//! Everything behind the `headwater` command. ARCHITECTURE.md is the map.
#![deny(unsafe_code)]

pub mod doctor;
pub mod environment;
pub mod harness;
pub mod patterns;
pub mod transports;
