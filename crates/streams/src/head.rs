//! The stream head: the calls of a process that holds an end. One file for each group of calls.

pub(crate) use crate::options::head as options;

pub(crate) mod beside;
mod beyond;
pub(crate) mod claim;
mod close;
mod datagram;
mod edge;
mod file;
mod get;
pub(crate) mod handle;
mod insert;
pub(crate) mod ioctl;
mod lower;
mod modules;
mod nread;
mod panic;
mod partner;
mod peeked;
pub(crate) mod poll;
mod put;
mod queue_ref;
mod read;
mod read_batching;
mod route;
mod service;
mod settings;
mod shutdown;
pub(crate) mod signals;
pub(crate) mod state;
mod wait;
mod write;
mod zero_copy;

pub use crate::process::listeners::SignalEvents;
pub use datagram::ReceivedDatagram;
pub use edge::{PreparedEdge, Told};
pub use file::ReceivedFile;
pub use get::{MessageFilter, Received};
pub use ioctl::{IoctlTimeout, MemoryAt, UserMemory};
pub use poll::{Events, Prepared};
pub use zero_copy::{ReadGrant, WriteGrant};
