//! Queues: the lane for band 0, the store for all other messages, and the two rules of both: flow control and the order
//! of messages.
pub(crate) mod flow;
pub(crate) mod lane;
#[cfg(not(loom))]
mod order;
#[cfg(not(loom))]
pub(crate) mod store;
