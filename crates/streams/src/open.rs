//! How an end of a stream comes into a process: opened by a name, made as a FIFO, attached to a file, linked below a multiplexer, or
//! received from another process. Called by the public interface; knows the stream head, and nothing below knows it.

pub(crate) mod admission;
mod attach;
pub(crate) mod attached;
pub(crate) mod census;
pub(crate) mod device;
pub(crate) mod fifo;
mod kept;
pub(crate) mod link;
pub(crate) mod passed;
