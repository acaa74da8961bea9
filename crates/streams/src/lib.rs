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
//! # Which type
//! - [`pipe`], [`Options::pipe`], [`Fifo::open`] and [`Device::open`] give a [`Stream`]: an end of a stream, for all threads of the
//!   process at once. Its clones are the same end. Rare duties are grouped: [`Stream::settings`], [`Stream::modules`],
//!   [`Stream::signals`], [`Stream::files`], [`Stream::links`].
//! - [`Stream::direct`] gives a [`DirectStream`], for a thread that makes millions of calls, or sends and receives without a
//!   copy ([`DirectStream::reserve`], [`DirectStream::borrow`]).
//! - `AsyncStream` (feature `tokio`) is an end for tasks.
//! - [`Message`] is a message, as users send and receive it whole and as modules pass it on. [`Stream::getmsg`] reads the parts of
//!   one into the caller's buffers instead, and returns [`Received`].
//! - [`Module`] and [`Driver`] are code that users push on an end, or open; their calls are those of [`Queue`].
//!
//! An end goes to another process by fork, to a program that this one starts by [`CommandStream::stream`] and
//! [`Stream::from_env`], over a socket by [`Stream::send_over`]. It is no [`Stdio`](std::process::Stdio): a program that does not use
//! this library cannot read or write its data, and fails.
//!
//! A stream is one piece of shared memory and a pair of connected sockets: the kernel counts the holders of an end, and
//! wakes sleepers; data and flow control never enter it. The behaviour is that of SVR4 and POSIX (XSR option), the
//! names are theirs, spelled out; docs/guarantees.md lists the differences.

#![deny(unsafe_code)]
#![deny(missing_docs, missing_debug_implementations)]
#![warn(clippy::missing_errors_doc)]
#![cfg_attr(loom, allow(dead_code, reason = "loom models the lane, and the rest is left out"))]

#[cfg(all(not(loom), feature = "tokio"))]
mod asynchronous;
#[cfg(not(loom))]
pub mod attach;
#[cfg(not(loom))]
pub mod autopush;
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
#[cfg(not(loom))]
pub mod inspect;
mod layout;
pub mod limits;
#[cfg(not(loom))]
mod listener;
mod message;
#[cfg(not(loom))]
pub mod modules;
#[cfg(not(loom))]
mod open;
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
#[cfg(not(loom))]
mod strlog;
#[cfg(not(loom))]
pub mod tpi;

pub use error::{Errno, Error, Result};
#[cfg(not(loom))]
pub use public::*;

/// The examples of the guide are tests.
#[cfg(all(doctest, not(loom)))]
#[doc = include_str!("../../../docs/streams.md")]
struct Guide;

/// Types that several threads share or send.
#[cfg(not(loom))]
const _: () = {
    const fn is_sent<T: Send>() {}
    const fn is_shared<T: Send + Sync + Unpin>() {}
    is_shared::<Stream>();
    is_shared::<(Listener, PeerCredentials)>();
    is_shared::<ReadHalf>();
    is_shared::<WriteHalf>();
    is_shared::<Message<'static>>();
    is_shared::<Error>();
    is_shared::<Errno>();
    is_shared::<Options>();
    is_shared::<DeviceOptions>();
    is_shared::<FifoOptions>();
    is_shared::<attach::AttachedOptions>();
    is_shared::<(ReadOptions, WriteOptions, ErrorOptions, SetOptions, Policy)>();
    is_shared::<(
        Access,
        Counters,
        Events,
        Flush,
        IoctlBlock,
        IoctlTimeout,
        Kind,
        MessageFilter,
        MessageHeader,
        Priority,
    )>();
    is_shared::<(DriverInfo, ModuleInfo, Opening, Received, ReceivedDatagram, ReceivedFile, Side, SignalEvents)>();
    is_shared::<MemoryAt<'static>>();
    is_shared::<(LogSubmitter, QueueRef)>();
    // One thread at a time uses it.
    is_sent::<DirectStream>();
    is_sent::<ReadGrant<'static>>();
    is_sent::<WriteGrant<'static>>();
    #[cfg(feature = "tokio")]
    is_sent::<AsyncStream>();
};

/// The public items of the crate; loom models the lane alone.
#[cfg(not(loom))]
mod public {
    #[cfg(feature = "tokio")]
    pub use crate::asynchronous::AsyncStream;
    pub use crate::counters::Counters;
    #[doc(hidden)]
    pub use crate::head::handle::Handle;
    pub use crate::head::{
        Events, IoctlTimeout, MemoryAt, MessageFilter, Prepared, PreparedEdge, ReadGrant, Received, ReceivedDatagram,
        ReceivedFile, SignalEvents, Told, UserMemory, WriteGrant,
    };
    pub use crate::listener::{Incoming, Listener, PeerCredentials};
    pub use crate::message::Message;
    pub use crate::message::ioctl::{IoctlBlock, PRIVATE_WORDS};
    pub use crate::message::kind::{Flush, Kind, MessageHeader};
    pub use crate::message::link::{LinkRequest, MuxId, command as link_command};
    pub use crate::message::priority::Priority;
    pub use crate::open::device::path::DevicePath;
    pub use crate::open::device::{Device, DeviceOptions};
    pub use crate::open::fifo::{Fifo, FifoOptions};
    pub use crate::open::passed::CommandStream;
    pub use crate::options::Options;
    pub use crate::options::head::{ControlMode, ErrorOptions, ReadMode, ReadOptions, SetOptions, WriteOptions};
    pub use crate::pipe::pipe;
    pub use crate::plumb::data::Next;
    pub use crate::plumb::driver::{Driver, DriverInfo, Opening};
    pub use crate::plumb::module::{Module, ModuleInfo, Side};
    pub use crate::plumb::queue::{Queue, QueueRef};
    pub use crate::plumb::registry::{
        known_drivers, known_modules, register, register_all, register_driver, set_module_resolver,
    };
    pub use crate::policy::Policy;
    pub use crate::process::end::Access;
    pub use crate::process::file_kind::FileKind;
    pub use crate::process::local::LocalState;
    pub use crate::process::sleep_check::set_sleep_check;
    pub use crate::stream::{DirectStream, Files, Links, Modules, ReadHalf, Settings, Signals, Stream, WriteHalf};
    pub use crate::strlog::{LogSubmitter, strlog};
}
