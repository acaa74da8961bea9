//! `bufmod`: gathers messages on their way up into chunks, so that a reader gets many of them with one call, as bufmod(7M) of SunOS.
//!
//! A message of data, or an M_PROTO, that comes from below is cut to the snapshot length, gets a [`PacketHeader`], and is added to
//! the chunk. The chunk is passed on when the next message does not fit, when the time is over, and where
//! [`BufferFlags::SEND_ON_WRITE`] asks for it. Other messages pass, those of high priority at once, the others behind the chunk. A
//! chunk that the next queue does not take is dropped and counted, or waits, as [`BufferFlags::NO_DROPS`] says.
//!
//! | ioctl | data | effect |
//! |---|---|---|
//! | [`SET_TIME`], [`GET_TIME`] | [`timeval`], 16 bytes | how long a message may wait in a chunk; 0: nothing is gathered |
//! | [`CLEAR_TIME`] | none | it may wait until the chunk is full. This is the initial setting |
//! | [`SET_CHUNK`], [`GET_CHUNK`] | u32 | longest chunk in bytes, at most [`CHUNK_MAX`]; 0: nothing is gathered. Initially [`CHUNK`] |
//! | [`SET_SNAP`], [`GET_SNAP`] | u32 | bytes of a message that are kept; 0: all. This is the initial setting |
//! | [`SET_FLAGS`], [`GET_FLAGS`] | u32 | [`BufferFlags`]; initially none |
//!
//! All take their data by I_STR and transparently. A change of the time, the length of chunks or the flags passes the chunk on.
//!
//! ```
//! use headwater_streams::IoctlTimeout;
//! use headwater_streams::modules::bufmod::{BufferFlags, PacketHeader, SET_CHUNK, SET_TIME, timeval};
//! use std::time::Duration;
//!
//! let (near, far) = headwater_streams::pipe()?;
//! near.push("bufmod")?;
//! near.ioctl(SET_CHUNK, &mut 4096u32.to_ne_bytes().to_vec(), IoctlTimeout::Usual)?;
//! near.ioctl(SET_TIME, &mut timeval(Duration::from_millis(5)).to_vec(), IoctlTimeout::Usual)?;
//!
//! far.putmsg(None, Some(b"one"))?;
//! far.putmsg(None, Some(b"three"))?;
//! // Both come with one call.
//! let mut chunk = [0; 4096];
//! let count = near.read(&mut chunk)?;
//! let first = PacketHeader::of(&chunk[..count]).expect("a header");
//! assert_eq!((first.message_len, &chunk[PacketHeader::LEN..][..3]), (3, &b"one"[..]));
//! let rest = &chunk[first.total_len as usize..count];
//! assert_eq!(PacketHeader::of(rest).map(|second| second.message_len), Some(5));
//! # Ok::<(), headwater_streams::Error>(())
//! ```
//!
//! Differences: the head's water marks stay as they are, because a queue here takes one message of any length beyond its
//! high-water mark. Bands and marks of messages that are gathered are lost.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{Errno, Result};
use crate::message::Message;
use crate::message::ioctl::IoctlBlock;
use crate::message::kind::{Flush, Kind};
use crate::plumb::module::{Module, ModuleInfo, Side};
use crate::plumb::queue::Queue;

mod chunk;
mod ioctl;
#[cfg(test)]
mod tests;

pub use ioctl::{
    CLEAR_TIME, GET_CHUNK, GET_FLAGS, GET_SNAP, GET_TIME, SET_CHUNK, SET_FLAGS, SET_SNAP, SET_TIME, timeval,
};

/// Length of a chunk in bytes, unless it is set.
#[doc(alias = "SB_DFLT_CHUNK")]
pub const CHUNK: u32 = 8192;
/// Longest chunk that can be set, bytes: as much as a module's memory has room for.
pub const CHUNK_MAX: u32 = 64 << 10;

bitflags::bitflags! {
    /// How `bufmod` treats messages.
    ///
    /// ```
    /// use headwater_streams::modules::bufmod::BufferFlags;
    ///
    /// assert_eq!((BufferFlags::NO_HEADER | BufferFlags::SEND_ON_WRITE).bits(), 3);
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
    pub struct BufferFlags: u32 {
        /// A message on the write side has the chunk passed on, before that message is.
        #[doc(alias = "SB_SEND_ON_WRITE")]
        const SEND_ON_WRITE = 0x01;
        /// Messages get no header.
        #[doc(alias = "SB_NO_HEADER")]
        const NO_HEADER = 0x02;
        /// M_PROTO messages pass as they are. Else their control part becomes data in front of the data.
        #[doc(alias = "SB_NO_PROTO_CVT")]
        #[doc(alias = "SB_NO_PROTO_CONV")]
        const NO_PROTO_CONVERSION = 0x04;
        /// The first message of an interval is passed on at once; gathering begins with the second.
        #[doc(alias = "SB_DEFER_CHUNK")]
        const DEFER_CHUNK = 0x08;
        /// What the next queue does not take waits, and stops the writer. Else it is dropped.
        #[doc(alias = "SB_NO_DROPS")]
        const NO_DROPS = 0x10;
    }
}

/// What stands before each message in a chunk, in the machine's order of bytes (`struct sb_hdr`).
///
/// | byte | field | C name |
/// |---|---|---|
/// | 0 | `original_len` | `sbh_origlen` |
/// | 4 | `message_len` | `sbh_msglen` |
/// | 8 | `total_len` | `sbh_totlen` |
/// | 12 | `drops` | `sbh_drops` |
/// | 16 | `seconds` | `sbh_timestamp.tv_sec` |
/// | 20 | `microseconds` | `sbh_timestamp.tv_usec` |
///
/// The time stamp has 32 bits for seconds on LP64 too (`struct timeval32`).
///
/// ```
/// use headwater_streams::modules::bufmod::PacketHeader;
///
/// let header = PacketHeader { original_len: 9, message_len: 3, total_len: 32, drops: 1, seconds: 7, microseconds: 8 };
/// assert_eq!(PacketHeader::of(&header.bytes()), Some(header));
/// assert_eq!(PacketHeader::of(b"short"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[doc(alias = "sb_hdr")]
pub struct PacketHeader {
    /// Bytes of the message when it arrived.
    pub original_len: u32,
    /// Bytes of it that follow this header.
    pub message_len: u32,
    /// Bytes from the beginning of this header to that of the next one.
    pub total_len: u32,
    /// Messages that the module has dropped since it was pushed, modulo 2^32.
    pub drops: u32,
    /// When the message arrived, seconds since 1970, modulo 2^32.
    pub seconds: u32,
    /// And microseconds.
    pub microseconds: u32,
}

impl PacketHeader {
    /// Length in bytes.
    pub const LEN: usize = 24;
    /// Headers begin at multiples of this in a chunk: what follows one is aligned for every type of C.
    pub const ALIGNMENT: usize = 8;

    /// The header at the beginning of these bytes; None if there are fewer than [`PacketHeader::LEN`].
    pub fn of(bytes: &[u8]) -> Option<PacketHeader> {
        let bytes = bytes.first_chunk::<{ PacketHeader::LEN }>()?;
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[4 * at + byte]));
        Some(PacketHeader {
            original_len: word(0),
            message_len: word(1),
            total_len: word(2),
            drops: word(3),
            seconds: word(4),
            microseconds: word(5),
        })
    }

    /// The header as it stands in a chunk.
    pub fn bytes(&self) -> [u8; PacketHeader::LEN] {
        let PacketHeader { original_len, message_len, total_len, drops, seconds, microseconds } = *self;
        let words = [original_len, message_len, total_len, drops, seconds, microseconds].map(u32::to_ne_bytes);
        std::array::from_fn(|at| words[at / 4][at % 4])
    }
}

/// The module.
#[derive(Debug)]
pub struct BufferModule;

impl Module for BufferModule {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("bufmod").service(Side::Read).instance(chunk::AT + CHUNK_MAX as usize)
    }

    fn open(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        ioctl::Settings::default().store(queue)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if queue.side() == Side::Read { put_read(message, queue) } else { put_write(message, queue) }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        chunk::obey(queue)?;
        chunk::pass_all(queue)
    }

    fn timeout(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        chunk::end_interval(queue);
        chunk::pass_all(queue)
    }
}

fn put_read<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let settings = ioctl::Settings::load(queue)?;
    match message.header.kind {
        Kind::Flush => {
            // The chunk goes with the message that stands for it in the queue.
            queue.flush_as(&message)?;
            if matches!(Flush::of(&message), Flush { read: true, band: None | Some(0), .. }) {
                chunk::forget(queue);
            }
            queue.put_next(message)
        }
        Kind::Hangup => {
            chunk::pass_all(queue)?;
            queue.put_next(message)
        }
        kind if kind.is_high_priority() => queue.put_next(message),
        Kind::Data => chunk::gather(&message, settings, queue),
        Kind::Proto if !settings.flags.contains(BufferFlags::NO_PROTO_CONVERSION) => {
            chunk::gather(&message, settings, queue)
        }
        _ => chunk::pass_behind(message, queue),
    }
}

fn put_write<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    match message.header.kind {
        Kind::Flush => queue.flush_as(&message)?,
        Kind::Ioctl | Kind::IocData if ioctl::is_own(IoctlBlock::of(&message)?.command) => {
            return ioctl::answer(message, queue);
        }
        // A waiting reader sends it, and no user.
        Kind::Read => {}
        _ if ioctl::Settings::load(queue)?.flags.contains(BufferFlags::SEND_ON_WRITE) => {
            // Before the message can have an answer.
            ioctl::request_chunk(queue)?;
        }
        _ => {}
    }
    queue.put_next(message)
}

/// The time of day.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Whether an error says that there is no room for a message, for good.
fn is_exhausted(errno: Errno) -> bool {
    errno == Errno::Nosr || errno == Errno::Range
}
