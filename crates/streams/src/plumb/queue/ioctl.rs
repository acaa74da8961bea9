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
