//! The stream head.
mod read;
pub(crate) mod stream;
mod write;
