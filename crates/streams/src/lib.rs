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
//! far.putmsg(Some(b"head"), Some(b"body"), false)?;
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

#[cfg(feature = "tokio")]
mod asynchronous;
mod counters;
mod error;
mod head;
mod layout;
pub mod limits;
mod message;
pub mod modules;
mod options;
mod plumb;
mod policy;
mod process;
mod queue;
mod sched;

#[cfg(feature = "tokio")]
pub use asynchronous::AsyncStream;
pub use counters::Counters;
pub use error::{Errno, Error, Result};
pub use head::options::{ControlMode, ErrorOptions, ReadMode, ReadOptions, SetOptions, WriteOptions};
pub use head::stream::{Stream, pipe, pipe_with};
pub use head::{Borrowed, Events, Got, Reserved, Select};
pub use message::Message;
pub use message::kind::{Flush, Kind, What};
pub use message::owned::OwnedMessage;
pub use options::Options;
pub use plumb::module::{Info, Module, Next, Side};
pub use plumb::queue::Queue;
pub use plumb::registry::register;
pub use policy::Policy;
pub use process::end::Access;
pub use process::fifo::Fifo;
