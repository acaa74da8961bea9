//! A stream in a process: its memory, its descriptors, and how the process sleeps and is woken.

#[cfg(not(loom))]
mod attach;
#[cfg(not(loom))]
pub(crate) mod end;
#[cfg(not(loom))]
pub(crate) mod endpoint;
#[cfg(not(loom))]
pub(crate) mod fifo;
pub(crate) mod flags;
#[cfg(not(loom))]
pub(crate) mod inbox;
#[cfg(not(loom))]
pub(crate) mod region;
#[cfg(not(loom))]
pub(crate) mod sleep;
