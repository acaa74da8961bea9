//! The control part of an ioctl's messages: the one layout of SVR4's `iocblk`, `copyreq` and `copyresp`, which share a
//! block there too. The data that the ioctl transfers is the message's data part.
//!
//! The head makes the M_IOCTL, a module or driver turns it into an answer ([`crate::Queue::acknowledge`] and its
//! neighbours), and `head::ioctl` takes that. A block that comes from shared memory is read as bytes and checked here.

use super::Message;
use super::kind::{Kind, MessageHeader};
use crate::error::{Errno, Error, Result};

/// Bytes of the control part of each of these messages.
pub(crate) const IOCTL_BLOCK: usize = 64;

/// Words that a module keeps in the block between its request to copy and the M_IOCDATA that answers it.
pub const PRIVATE_WORDS: usize = 2;

/// `count` of a transparent ioctl.
const TRANSPARENT: u64 = u64::MAX;

/// The control part of an M_IOCTL, M_IOCACK, M_IOCNAK, M_COPYIN, M_COPYOUT or M_IOCDATA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[doc(alias = "iocblk")]
#[doc(alias = "copyreq")]
#[doc(alias = "copyresp")]
pub struct IoctlBlock {
    /// The command (ioc_cmd).
    #[doc(alias = "ioc_cmd")]
    pub command: u32,
    /// The number of the ioctl at its head; never 0 (ioc_id). An answer with another number is discarded.
    #[doc(alias = "ioc_id")]
    pub id: u32,
    /// Effective user of the caller (ioc_uid), as the caller states.
    #[doc(alias = "ioc_uid")]
    pub user: u32,
    /// Effective group of the caller (ioc_gid), as the caller states.
    #[doc(alias = "ioc_gid")]
    pub group: u32,
    /// Bytes of data (ioc_count); None: the ioctl is transparent, and its data part is the caller's argument, eight bytes in
    /// the order of the machine.
    #[doc(alias = "ioc_count")]
    #[doc(alias = "TRANSPARENT")]
    pub count: Option<u64>,
    /// The error of the ioctl (ioc_error); in an M_IOCDATA, why nothing was copied (cp_rval). 0: no error.
    #[doc(alias = "ioc_error")]
    #[doc(alias = "cp_rval")]
    pub error: i32,
    /// What the ioctl returns (ioc_rval).
    #[doc(alias = "ioc_rval")]
    pub value: i32,
    /// The address in the caller's memory to copy from or to (cq_addr).
    #[doc(alias = "cq_addr")]
    pub address: u64,
    /// How many bytes an M_COPYIN asks for (cq_size). An M_COPYOUT brings as many as its data part has.
    #[doc(alias = "cq_size")]
    pub size: u64,
    /// The module's private words, returned in the M_IOCDATA that answers its request (cq_private).
    #[doc(alias = "cq_private")]
    pub private: [u64; PRIVATE_WORDS],
}

impl IoctlBlock {
    /// Reads the block of a message.
    ///
    /// # Errors
    /// `EINVAL` for a message without such a block.
    #[doc = include_str!("../../doc/ioctl_blocks.md")]
    pub fn of(message: &Message<'_>) -> Result<IoctlBlock> {
        let bytes = message.control().and_then(|control| control.first_chunk::<IOCTL_BLOCK>());
        bytes.map(IoctlBlock::from_bytes).ok_or_else(|| {
            let len = message.control().map_or(0, <[u8]>::len);
            let why = format!("an ioctl's control part has {len} bytes, and its block takes {IOCTL_BLOCK}");
            Error::new(Errno::Inval, why)
        })
    }

    /// The argument of a transparent ioctl, or the first word of the caller's data; 0 without one.
    #[doc = include_str!("../../doc/queue_ioctl.md")]
    pub fn argument(ioctl: &Message<'_>) -> u64 {
        let data = ioctl.data().unwrap_or_default();
        let short = || data.first_chunk::<4>().map_or(0, |bytes| u32::from_ne_bytes(*bytes).into());
        data.first_chunk::<8>().map_or_else(short, |bytes| u64::from_ne_bytes(*bytes))
    }

    /// A message with this block.
    pub(crate) fn message(self, kind: Kind, data: Option<Vec<u8>>) -> Message<'static> {
        Message::from_parts(MessageHeader::of(kind), Some(self.bytes().to_vec()), data)
    }

    fn from_bytes(bytes: &[u8; IOCTL_BLOCK]) -> IoctlBlock {
        let half = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        IoctlBlock {
            command: half(0),
            id: half(4),
            user: half(8),
            group: half(12),
            count: Some(word(16)).filter(|count| *count != TRANSPARENT),
            error: half(24) as i32,
            value: half(28) as i32,
            address: word(32),
            size: word(40),
            private: [word(48), word(56)],
        }
    }

    /// The control part of a message with this block.
    #[doc = include_str!("../../doc/ioctl_blocks.md")]
    pub fn bytes(self) -> [u8; IOCTL_BLOCK] {
        let IoctlBlock { command, id, user, group, count, error, value, address, size, private } = self;
        let mut bytes = [0; IOCTL_BLOCK];
        let halves = [(0, command), (4, id), (8, user), (12, group), (24, error as u32), (28, value as u32)];
        for (at, half) in halves {
            bytes[at..at + 4].copy_from_slice(&half.to_ne_bytes());
        }
        let [first, second] = private;
        let words = [(16, count.unwrap_or(TRANSPARENT)), (32, address), (40, size), (48, first), (56, second)];
        for (at, word) in words {
            bytes[at..at + 8].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_survives_its_message() {
        let block = IoctlBlock {
            command: 1,
            id: 2,
            user: 3,
            group: 4,
            count: Some(5),
            error: -6,
            value: 7,
            address: 8 << 40,
            size: 9 << 40,
            private: [10 << 40, 11 << 40],
        };
        for block in [block, IoctlBlock { count: None, ..block }] {
            assert_eq!(IoctlBlock::of(&block.message(Kind::Ioctl, None)).expect("whole"), block);
        }
    }

    #[test]
    fn a_short_block_is_refused() {
        let control = vec![0; IOCTL_BLOCK - 1];
        for control in [None, Some(control)] {
            let message = Message::from_parts(MessageHeader::of(Kind::IocAck), control, None);
            assert_eq!(IoctlBlock::of(&message).expect_err("too short").errno(), Errno::Inval);
        }
    }
}
