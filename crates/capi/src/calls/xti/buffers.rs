//! The buffers that callers pass as netbuf and t_iovec. All are checked before anything is sent or received.

use std::ffi::c_uint;
use std::io::{IoSlice, IoSliceMut};

use headwater_streams::tpi::TransportError;
use headwater_xti::VECTOR_MAX;

use super::Done;
use crate::abi::{T_INFINITE, netbuf, t_iovec};
use crate::memory::{self, CALL_MAX};

/// Returns the bytes of a buffer that the caller has filled.
pub fn given<'p>(buffer: netbuf) -> Done<&'p [u8]> {
    // SAFETY: `memory::bytes` checks the bytes; the entry point's caller promises that no other thread writes them
    // during the call.
    Ok(unsafe { memory::bytes(buffer.buf, buffer.len as usize)? })
}

/// Copies a structure of the caller. Returns `None` if the pointer is null.
pub fn structure<T: Copy>(at: *const T) -> Done<Option<T>> {
    if at.is_null() {
        return Ok(None);
    }
    // SAFETY: `memory::get` checks that `at` is readable. The structures of XTI have only integers and pointers, so any
    // bytes are valid.
    Ok(Some(unsafe { memory::get(at)? }))
}

/// Copies a structure of the caller. A null pointer fails with `EFAULT`.
pub fn needed<T: Copy>(at: *const T) -> Done<T> {
    // SAFETY: `memory::get` checks that `at` is readable. The structures of XTI have only integers and pointers, so any
    // bytes are valid.
    Ok(unsafe { memory::get(at)? })
}

/// A buffer to be filled.
#[derive(Debug)]
pub struct Room {
    at: *mut netbuf,
    pub buffer: &'static mut [u8],
}

impl Room {
    /// Checks the netbuf at `at` and its buffer, for at most `size` bytes from the transport; `size` is a size of
    /// [`Info`](headwater_xti::Info). The rest of the buffer is neither checked nor written, because a caller may pass
    /// any address for what the transport does not have.
    pub fn from_ptr(at: *mut netbuf, size: i32) -> Done<Room> {
        let described = needed(at.cast_const())?;
        memory::check_room(at)?;
        let size = match size {
            T_INFINITE => CALL_MAX,
            size => usize::try_from(size).unwrap_or(0),
        };
        let len = (described.maxlen as usize).min(size).min(CALL_MAX);
        // SAFETY: `bytes_mut` checks the buffer; the entry point's caller promises that no other thread uses it during
        // the call.
        let buffer = unsafe { memory::bytes_mut(described.buf, len)? };
        Ok(Room { at, buffer })
    }

    /// Stores how many bytes are filled.
    pub fn set_len(&self, len: usize) -> Done<()> {
        // SAFETY: only the address is taken; `from_ptr` has checked the netbuf. No other field is written, because they
        // may be constant.
        Ok(memory::put(unsafe { &raw mut (*self.at).len }, len as c_uint)?)
    }

    /// Copies `bytes` to the buffer, unless the caller does not want them (a maxlen of 0). Fails with TBUFOVFLW if they
    /// do not fit.
    pub fn fill(&mut self, bytes: &[u8]) -> Done<()> {
        if self.buffer.is_empty() {
            return self.set_len(0);
        }
        match self.buffer.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.set_len(bytes.len())
            }
            None => {
                self.set_len(0)?;
                Err(TransportError::BufferOverflow.into())
            }
        }
    }
}

/// Fills several buffers. All of them are filled, even if one is too short.
pub fn fill(parts: &mut [(&mut Room, &[u8])]) -> Done<()> {
    let mut all = Ok(());
    for (room, bytes) in parts {
        all = all.and(room.fill(bytes));
    }
    all
}

/// Copies a t_iovec array.
fn pieces(vector: *const t_iovec, count: c_uint) -> Done<Vec<t_iovec>> {
    if count == 0 || count as usize > VECTOR_MAX {
        return Err(TransportError::BadData.into());
    }
    (0..count as usize).map(|at| needed(vector.wrapping_add(at))).collect()
}

/// Returns the data to be sent.
pub fn gathered<'p>(vector: *const t_iovec, count: c_uint) -> Done<Vec<IoSlice<'p>>> {
    let piece = |piece: t_iovec| {
        // SAFETY: `memory::bytes` checks the bytes; the entry point's caller promises that no other thread writes them
        // during the call.
        Ok(IoSlice::new(unsafe { memory::bytes(piece.iov_base, piece.iov_len)? }))
    };
    pieces(vector, count)?.into_iter().map(piece).collect()
}

/// Returns the buffers for data to be received.
pub fn scattered<'p>(vector: *const t_iovec, count: c_uint) -> Done<Vec<IoSliceMut<'p>>> {
    let piece = |piece: t_iovec| {
        // SAFETY: `bytes_mut` checks the buffer; the entry point's caller promises that no other thread uses it during
        // the call.
        Ok(IoSliceMut::new(unsafe { memory::bytes_mut(piece.iov_base, piece.iov_len.min(CALL_MAX))? }))
    };
    pieces(vector, count)?.into_iter().map(piece).collect()
}
