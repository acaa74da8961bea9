//! The memory of an ioctl's caller, from which and to which the head copies the bytes that a module or driver requests.

use crate::error::{Errno, Error, Result, Text};
use crate::message::ioctl::IoctlBlock;

/// A caller's memory, by addresses. [`MemoryAt`] is a piece of it, and a vector of those several; the C library's is the
/// process's own.
pub trait UserMemory {
    /// Copies from `address` on as many bytes as the buffer takes.
    ///
    /// # Errors
    /// `EFAULT` if not all of them are there; nothing is used of those that are.
    #[doc(alias = "copyin")]
    fn copy_in(&self, address: u64, buffer: &mut [u8]) -> Result<()>;

    /// Copies these bytes to `address`.
    ///
    /// # Errors
    /// `EFAULT` if there is no room for all of them.
    #[doc(alias = "copyout")]
    fn copy_out(&mut self, address: u64, bytes: &[u8]) -> Result<()>;
}

/// Bytes that lie at an address that the caller has chosen.
#[derive(Debug)]
pub struct MemoryAt<'b> {
    address: u64,
    bytes: &'b mut [u8],
}

impl<'b> MemoryAt<'b> {
    /// These bytes at that address, which need not be where they lie.
    #[doc = include_str!("../../../doc/ioctl_blocks.md")]
    pub fn new(address: u64, bytes: &'b mut [u8]) -> MemoryAt<'b> {
        MemoryAt { address, bytes }
    }

    /// The range of `len` bytes at an address.
    fn part(&self, address: u64, len: usize) -> Option<std::ops::Range<usize>> {
        let from = usize::try_from(address.checked_sub(self.address)?).ok()?;
        let to = from.checked_add(len)?;
        (to <= self.bytes.len()).then_some(from..to)
    }
}

impl UserMemory for MemoryAt<'_> {
    fn copy_in(&self, address: u64, buffer: &mut [u8]) -> Result<()> {
        let part = self.part(address, buffer.len()).ok_or_else(|| fault(address, buffer.len()))?;
        buffer.copy_from_slice(&self.bytes[part]);
        Ok(())
    }

    fn copy_out(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        let part = self.part(address, bytes.len()).ok_or_else(|| fault(address, bytes.len()))?;
        self.bytes[part].copy_from_slice(bytes);
        Ok(())
    }
}

impl UserMemory for Vec<MemoryAt<'_>> {
    fn copy_in(&self, address: u64, buffer: &mut [u8]) -> Result<()> {
        let piece = self.iter().find(|piece| piece.part(address, buffer.len()).is_some());
        piece.ok_or_else(|| fault(address, buffer.len()))?.copy_in(address, buffer)
    }

    fn copy_out(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        let piece = self.iter_mut().find(|piece| piece.part(address, bytes.len()).is_some());
        piece.ok_or_else(|| fault(address, bytes.len()))?.copy_out(address, bytes)
    }
}

fn fault(address: u64, len: usize) -> Error {
    Error::new(Errno::Fault, format!("the caller has no {len} bytes at {address:#x}"))
}

/// Copies the bytes that an M_COPYIN requests, at most `most`.
pub(super) fn copy_in(memory: &dyn UserMemory, block: &IoctlBlock, most: usize) -> Result<Vec<u8>> {
    let len = usize::try_from(block.size)
        .ok()
        .filter(|len| *len <= most)
        .ok_or_else(|| Error::numbered(Text::CopyTooLong, block.size, most as u64))?;
    let mut bytes = vec![0; len];
    memory.copy_in(block.address, &mut bytes)?;
    Ok(bytes)
}

/// Copies the bytes of an M_COPYOUT.
pub(super) fn copy_out(memory: &mut dyn UserMemory, block: &IoctlBlock, bytes: &[u8]) -> Result<()> {
    memory.copy_out(block.address, bytes)
}
