//! Queues: the lane for band 0, the store for everything else, and the rule by which messages are ordered.
pub(crate) mod lane;
#[cfg(not(loom))]
mod order;
#[cfg(not(loom))]
pub(crate) mod store;
