//! Queues: the lane for band 0, the store for everything else, and the rule by which messages are ordered.
pub(crate) mod lane;
mod order;
pub(crate) mod store;
