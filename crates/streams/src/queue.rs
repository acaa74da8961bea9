//! Queues.
pub(crate) mod lane;
