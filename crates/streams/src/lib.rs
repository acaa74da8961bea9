//! SVR4 STREAMS in user space: full-duplex pipes over shared memory, several times faster than the kernel's.
#![deny(unsafe_code)]
#![cfg_attr(loom, allow(dead_code, reason = "loom models the lane, and the rest is left out"))]

#[cfg(not(loom))]
mod counters;
mod error;
#[cfg(not(loom))]
mod head;
mod layout;
pub mod limits;
mod message;
#[cfg(not(loom))]
mod options;
#[cfg(not(loom))]
mod policy;
#[cfg(not(loom))]
mod process;
mod queue;

#[cfg(not(loom))]
pub use counters::Counters;
pub use error::{Errno, Error, Result};
#[cfg(not(loom))]
pub use head::stream::{Stream, pipe, pipe_with};
pub use message::kind::{Flush, Kind, What};
#[cfg(not(loom))]
pub use options::Options;
#[cfg(not(loom))]
pub use policy::Policy;
