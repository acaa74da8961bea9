//! How a module or driver answers an ioctl: the calls of the DDI/DKI that turn an M_IOCTL, or the M_IOCDATA that follows it,
//! into its answer.

use super::Queue;
use crate::error::{Errno, Result};
use crate::message::Message;
use crate::message::ioctl::{IoctlBlock, PRIVATE_WORDS};
use crate::message::kind::Kind;

impl Queue<'_, '_, '_> {
    /// Answers an ioctl: it returns `value`, and these data to a caller that handed over its own (I_STR).
    ///
    /// # Errors
    /// `EINVAL` for a message without an ioctl's block.
    #[doc(alias = "miocack")]
    #[doc(alias = "M_IOCACK")]
    #[doc = include_str!("../../../doc/queue_ioctl.md")]
    pub fn acknowledge(&mut self, ioctl: &Message<'_>, value: i32, data: Option<Vec<u8>>) -> Result<()> {
        let count = data.as_ref().map_or(0, |data| data.len() as u64);
        let block = IoctlBlock { value, error: 0, count: Some(count), ..IoctlBlock::of(ioctl)? };
        self.reply(block.message(Kind::IocAck, data))
    }

    /// Answers an ioctl: it was done, and failed with this error.
    ///
    /// # Errors
    /// `EINVAL` for a message without an ioctl's block.
    #[doc(alias = "M_IOCACK")]
    #[doc = include_str!("../../../doc/queue_ioctl.md")]
    pub fn acknowledge_error(&mut self, ioctl: &Message<'_>, error: Errno) -> Result<()> {
        let block = IoctlBlock { error: error.number(), count: Some(0), ..IoctlBlock::of(ioctl)? };
        self.reply(block.message(Kind::IocAck, None))
    }

    /// Refuses an ioctl with this error.
    ///
    /// # Errors
    /// `EINVAL` for a message without an ioctl's block.
    #[doc(alias = "miocnak")]
    #[doc(alias = "M_IOCNAK")]
    #[doc = include_str!("../../../doc/queue_ioctl.md")]
    pub fn refuse(&mut self, ioctl: &Message<'_>, error: Errno) -> Result<()> {
        let block = IoctlBlock { error: error.number(), count: Some(0), ..IoctlBlock::of(ioctl)? };
        self.reply(block.message(Kind::IocNak, None))
    }

    /// Asks the head for `size` bytes of the caller's memory. They come as an M_IOCDATA, which has `private` as it is here; or
    /// one comes whose block has an error: then nothing was copied, the ioctl is over, and no answer is expected.
    ///
    /// # Errors
    /// `EINVAL` for a message without an ioctl's block.
    #[doc(alias = "mcopyin")]
    #[doc(alias = "M_COPYIN")]
    #[doc = include_str!("../../../doc/queue_ioctl.md")]
    pub fn copy_in(
        &mut self,
        ioctl: &Message<'_>,
        address: u64,
        size: u64,
        private: [u64; PRIVATE_WORDS],
    ) -> Result<()> {
        let block = IoctlBlock { address, size, private, error: 0, ..IoctlBlock::of(ioctl)? };
        self.reply(block.message(Kind::CopyIn, None))
    }

    /// Has the head copy these data into the caller's memory. That is answered as [`Queue::copy_in`] is, without data.
    ///
    /// # Errors
    /// `EINVAL` for a message without an ioctl's block.
    #[doc(alias = "mcopyout")]
    #[doc(alias = "M_COPYOUT")]
    #[doc = include_str!("../../../doc/queue_ioctl.md")]
    pub fn copy_out(
        &mut self,
        ioctl: &Message<'_>,
        address: u64,
        data: Vec<u8>,
        private: [u64; PRIVATE_WORDS],
    ) -> Result<()> {
        let size = data.len() as u64;
        let block = IoctlBlock { address, size, private, error: 0, ..IoctlBlock::of(ioctl)? };
        self.reply(block.message(Kind::CopyOut, Some(data)))
    }
}

/// Ioctls that give the caller one structure, or take one from it. Both ways of calling are answered: the caller's data (I_STR), and
/// the address of the structure as the argument of a transparent ioctl.
impl Queue<'_, '_, '_> {
    /// Gives the caller these bytes, and answers the ioctl. Called for its M_IOCTL, and for the M_IOCDATA that follows a transparent
    /// one.
    ///
    /// # Errors
    /// `EINVAL` for a message without an ioctl's block.
    #[doc = include_str!("../../../doc/queue_ioctl.md")]
    pub fn give(&mut self, ioctl: &Message<'_>, bytes: &[u8]) -> Result<()> {
        let block = IoctlBlock::of(ioctl)?;
        match (ioctl.header.kind, block.count) {
            (Kind::IocData, _) if block.error != 0 => Ok(()),
            (Kind::IocData, _) => self.acknowledge(ioctl, 0, None),
            (_, Some(_)) => self.acknowledge(ioctl, 0, Some(bytes.to_vec())),
            (_, None) => self.copy_out(ioctl, IoctlBlock::argument(ioctl), bytes.to_vec(), [0; PRIVATE_WORDS]),
        }
    }

    /// Takes `len` bytes from the caller. None: they are still to be copied, or cannot be, and the caller gets its answer.
    ///
    /// # Errors
    /// `EINVAL` for a message without an ioctl's block.
    #[doc = include_str!("../../../doc/queue_ioctl.md")]
    pub fn take(&mut self, ioctl: &Message<'_>, len: usize) -> Result<Option<Vec<u8>>> {
        let block = IoctlBlock::of(ioctl)?;
        let is_copied = ioctl.header.kind == Kind::IocData;
        if is_copied && block.error != 0 {
            return Ok(None);
        }
        if block.count.is_none() && !is_copied {
            self.copy_in(ioctl, IoctlBlock::argument(ioctl), len as u64, [0; PRIVATE_WORDS])?;
            return Ok(None);
        }
        match ioctl.data().and_then(|data| data.get(..len)) {
            Some(bytes) => Ok(Some(bytes.to_vec())),
            None => self.refuse(ioctl, Errno::Inval).map(|()| None),
        }
    }
}
