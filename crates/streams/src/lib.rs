//! SVR4 STREAMS in user space: full-duplex pipes over shared memory, several times faster than the kernel's.
//!
//! ```
//! let (mut near, mut far) = headwater_streams::pipe()?;
//! near.write(b"hello")?;
//! let mut text = [0; 16];
//! let count = far.read(&mut text)?;
//! assert_eq!(&text[..count], b"hello");
//!
//! // Messages have boundaries, a control part, a band.
//! far.putmsg(Some(b"head"), Some(b"body"))?;
//! let (mut control, mut data) = ([0; 8], [0; 8]);
//! let got = near.getmsg(Some(&mut control), Some(&mut data))?;
//! assert_eq!((got.control, got.data), (Some(4), Some(4)));
//! # Ok::<(), headwater_streams::Error>(())
//! ```
//!
//! A stream is one piece of shared memory and a pair of connected sockets: the kernel keeps count of who holds an end,
//! and wakes who sleeps; data and flow control never enter it. The behaviour is that of SVR4 and POSIX (XSR option), the
//! names are theirs, spelled out; docs/streams.md tells what differs.

#![deny(unsafe_code)]
#![cfg_attr(loom, allow(dead_code, reason = "loom models the lane, and the rest is left out"))]

#[cfg(all(not(loom), feature = "tokio"))]
mod asynchronous;
#[cfg(not(loom))]
mod counters;
#[cfg(not(loom))]
pub mod drivers;
mod error;
#[cfg(not(loom))]
mod events;
mod flags;
#[cfg(not(loom))]
mod head;
mod layout;
pub mod limits;
mod message;
#[cfg(not(loom))]
pub mod modules;
#[cfg(not(loom))]
mod options;
#[cfg(not(loom))]
mod pipe;
#[cfg(not(loom))]
mod plumb;
#[cfg(not(loom))]
mod policy;
#[cfg(not(loom))]
mod process;
mod queue;
#[cfg(not(loom))]
mod sched;
#[cfg(not(loom))]
mod stream;

pub use error::{Errno, Error, Result};
#[cfg(not(loom))]
pub use public::*;

/// What users of the crate see; loom models the lane alone.
#[cfg(not(loom))]
mod public {
    #[cfg(feature = "tokio")]
    pub use crate::asynchronous::AsyncStream;
    pub use crate::counters::Counters;
    pub use crate::head::handle::Handle;
    pub use crate::head::{
        Events, IoctlTimeout, MemoryAt, MessageFilter, ReadGrant, Received, ReceivedFile, SignalEvents, UserMemory,
        WriteGrant,
    };
    pub use crate::message::Message;
    pub use crate::message::ioctl::{IoctlBlock, PRIVATE_WORDS};
    pub use crate::message::kind::{Flush, Kind, MessageHeader};
    pub use crate::message::link::{LinkRequest, MuxId, command as link_command};
    pub use crate::message::priority::Priority;
    pub use crate::options::Options;
    pub use crate::options::head::{ControlMode, ErrorOptions, ReadMode, ReadOptions, SetOptions, WriteOptions};
    pub use crate::pipe::pipe;
    pub use crate::plumb::data::Next;
    pub use crate::plumb::driver::{Driver, DriverInfo, Opening};
    pub use crate::plumb::module::{Module, ModuleInfo, Side};
    pub use crate::plumb::queue::Queue;
    pub use crate::plumb::registry::{register, register_driver};
    pub use crate::policy::Policy;
    pub use crate::process::device::{Device, DeviceOptions};
    pub use crate::process::end::Access;
    pub use crate::process::fifo::{Fifo, FifoOptions};
    pub use crate::process::passed::CommandStream;
    pub use crate::stream::{ReadHalf, Stream, WriteHalf};
}
