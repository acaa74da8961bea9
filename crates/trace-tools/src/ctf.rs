//! Traces in the Common Trace Format, version 1.8: a directory with the file `metadata`, which describes the records,
//! and a file of packets for each ring. babeltrace2 and Trace Compass read them.
//!
//! docs/tracing.md, "The format of a trace", explains the layout and its reasons.

mod error;
mod files;
pub mod metadata;
mod packet;
mod reader;
mod repair;
mod source;
mod walk;
mod writer;

pub use error::Error;
pub use metadata::Metadata;
pub use packet::{HEAD as PACKET_HEAD, Head as PacketHead};
pub use reader::{Loss, Reader, Record, TraceItem};
pub use repair::{Position, Repaired, positions, repair};
pub use walk::Unsound;
pub use writer::{Packet, Writer};

#[cfg(test)]
mod tests;
