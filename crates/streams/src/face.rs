//! The names by which the crate is used.

#[cfg(feature = "tokio")]
pub use crate::asynchronous::AsyncStream;
pub use crate::counters::Counters;
pub use crate::head::handle::Handle;
pub use crate::head::{
    Borrowed, Events, Got, IoctlTimeout, MemoryAt, ReceivedFile, Reserved, Select, SignalEvents, UserMemory,
};
pub use crate::message::Message;
pub use crate::message::ioctl::{IoctlBlock, PRIVATE_WORDS};
pub use crate::message::kind::{Flush, Kind, What};
pub use crate::message::owned::OwnedMessage;
pub use crate::options::Options;
pub use crate::options::head::{ControlMode, ErrorOptions, ReadMode, ReadOptions, SetOptions, WriteOptions};
pub use crate::plumb::data::Next;
pub use crate::plumb::driver::{Driver, DriverInfo, Opening};
pub use crate::plumb::module::{Info, Module, Side};
pub use crate::plumb::queue::Queue;
pub use crate::plumb::registry::{register, register_driver};
pub use crate::policy::Policy;
pub use crate::process::device::{Device, DeviceOptions};
pub use crate::process::end::Access;
pub use crate::process::fifo::Fifo;
pub use crate::stream::{ReadHalf, Stream, WriteHalf, pipe, pipe_with};
