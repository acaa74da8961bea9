//! Messages.
pub mod kind;
