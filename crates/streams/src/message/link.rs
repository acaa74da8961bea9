//! What an I_LINK says to the driver of the upper stream, and the number by which a link is known.

use std::num::NonZeroU32;

use super::Message;
use super::ioctl::IoctlBlock;
use super::kind::Kind;
use crate::error::{Errno, Error, Result};

/// Commands of links: what a multiplexer finds in [`IoctlBlock::command`]. SVR4's numbers.
pub mod command {
    /// A stream is linked below.
    #[doc(alias = "I_LINK")]
    pub const LINK: u32 = ('S' as u32) << 8 | 12;
    /// A link is undone.
    #[doc(alias = "I_UNLINK")]
    pub const UNLINK: u32 = ('S' as u32) << 8 | 13;
    /// A stream is linked below, for longer than the upper stream is open.
    #[doc(alias = "I_PLINK")]
    pub const PERSISTENT_LINK: u32 = ('S' as u32) << 8 | 22;
    /// Such a link is undone.
    #[doc(alias = "I_PUNLINK")]
    pub const PERSISTENT_UNLINK: u32 = ('S' as u32) << 8 | 23;
}

/// By what a multiplexer and its users know a stream that is linked below (the multiplexer id that I_LINK returns).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(alias = "l_index")]
pub struct MuxId(NonZeroU32);

impl MuxId {
    /// Bytes of its form in messages.
    #[doc = include_str!("../../doc/mux_ids.md")]
    pub const LEN: usize = 4;

    /// The id of that number; None: there is none, 0 and what is above `i32::MAX`.
    #[doc = include_str!("../../doc/mux_ids.md")]
    pub fn new(number: u32) -> Option<MuxId> {
        NonZeroU32::new(number).filter(|number| number.get() <= i32::MAX as u32).map(MuxId)
    }

    /// Its number, which is positive as an `i32` too.
    #[doc = include_str!("../../doc/mux_ids.md")]
    pub fn number(self) -> u32 {
        self.0.get()
    }

    /// Its form in messages: four bytes in the order of the machine.
    #[doc = include_str!("../../doc/mux_ids.md")]
    pub fn bytes(self) -> [u8; MuxId::LEN] {
        self.number().to_ne_bytes()
    }

    /// The id that bytes begin with, and the bytes behind it.
    #[doc = include_str!("../../doc/mux_ids.md")]
    pub fn split_from(bytes: &[u8]) -> Option<(MuxId, &[u8])> {
        let (number, rest) = bytes.split_first_chunk::<{ MuxId::LEN }>()?;
        MuxId::new(u32::from_ne_bytes(*number)).map(|id| (id, rest))
    }
}

/// What is asked of a multiplexer by an M_IOCTL with one of the [`command`]s (linkblk, and its command).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "linkblk")]
pub enum LinkRequest {
    /// The stream of that id is linked below, if the driver acknowledges it. It can be used from now on.
    Link(MuxId),
    /// It is no longer, if the driver acknowledges it.
    Unlink(MuxId),
}

impl LinkRequest {
    /// What a message asks for; None: it is something else.
    ///
    /// # Errors
    /// `EINVAL` for an M_IOCTL of a link that names none.
    #[doc = include_str!("../../doc/multiplexers.md")]
    pub fn of(message: &Message<'_>) -> Result<Option<LinkRequest>> {
        if message.header.kind != Kind::Ioctl {
            return Ok(None);
        }
        let is_link = match IoctlBlock::of(message)?.command {
            command::LINK | command::PERSISTENT_LINK => true,
            command::UNLINK | command::PERSISTENT_UNLINK => false,
            _ => return Ok(None),
        };
        let id = message.data().and_then(MuxId::split_from);
        let (id, _) = id.ok_or_else(|| Error::new(Errno::Inval, "the ioctl of a link names no mux id"))?;
        Ok(Some(if is_link { LinkRequest::Link(id) } else { LinkRequest::Unlink(id) }))
    }
}
