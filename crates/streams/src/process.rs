//! Processes.
pub(crate) mod end;
pub(crate) mod region;
pub(crate) mod sleep;
