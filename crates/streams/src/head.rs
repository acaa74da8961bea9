//! The stream head: what a process that holds an end can do with it. One file for each group of calls.

pub(crate) use crate::options::head as options;

mod beyond;
mod close;
mod deliver;
mod file;
mod front;
mod gather;
mod get;
pub(crate) mod handle;
mod insert;
pub(crate) mod ioctl;
mod modules;
mod panic;
mod place;
pub(crate) mod poll;
mod put;
mod read;
mod settings;
mod shutdown;
pub(crate) mod signals;
pub(crate) mod state;
mod wait;
pub(crate) mod way;
mod write;

pub use crate::process::listeners::SignalEvents;
pub use file::ReceivedFile;
pub use get::{Got, Select};
pub use ioctl::{IoctlTimeout, MemoryAt, UserMemory};
pub use place::{Borrowed, Reserved};
pub use poll::Events;
pub(crate) use way::WriteSide;
