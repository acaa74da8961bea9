//! SVR4 STREAMS in user space: full-duplex pipes over shared memory, several times faster than the kernel's.
#![deny(unsafe_code)]

mod counters;
mod error;
mod head;
mod layout;
pub mod limits;
mod message;
mod options;
mod policy;
mod process;
mod queue;

pub use counters::Counters;
pub use error::{Errno, Error, Result};
pub use head::stream::{Stream, pipe, pipe_with};
pub use message::kind::{Flush, Kind, What};
pub use options::Options;
pub use policy::Policy;
