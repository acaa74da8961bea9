//! t_snd, t_rcv, t_sndv and t_rcvv.

use std::ffi::{c_int, c_uint, c_void};

use headwater_xti::{ReceivedData, SendFlags, TransportError};

use super::buffers::{gathered, scattered};
use super::{Done, returned, with};
use crate::abi::{T_EXPEDITED, T_MORE, T_PUSH, t_iovec};
use crate::memory::{self, CALL_MAX};

fn flags_of(flags: c_int) -> Done<SendFlags> {
    if flags & !(T_MORE | T_EXPEDITED | T_PUSH) != 0 {
        return Err(TransportError::BadFlag.into());
    }
    let mut given = SendFlags::default();
    given.more = flags & T_MORE != 0;
    given.expedited = flags & T_EXPEDITED != 0;
    Ok(given)
}

/// t_snd(3).
///
/// # Safety
/// Safe for any `bytes`, which are checked, if no other thread writes them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_snd(fd: c_int, bytes: *mut c_void, len: c_uint, flags: c_int) -> c_int {
    returned(with(fd, |endpoint| {
        let flags = flags_of(flags)?;
        // SAFETY: `memory::bytes` checks `bytes`; the caller promises that no other thread writes them during the call.
        let bytes = unsafe { memory::bytes(bytes, (len as usize).min(c_int::MAX as usize))? };
        Ok(endpoint.send(bytes, flags)? as c_int)
    }))
}

/// t_sndv(3).
///
/// # Safety
/// Safe for any pointers, which are checked, if no other thread writes what they point at during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_sndv(fd: c_int, vector: *const t_iovec, count: c_uint, flags: c_int) -> c_int {
    returned(with(fd, |endpoint| {
        let flags = flags_of(flags)?;
        Ok(endpoint.send_vectored(&gathered(vector, count)?, flags)? as c_int)
    }))
}

/// Stores the flags of what was received. Returns the count of bytes.
fn report(received: ReceivedData, flags: *mut c_int) -> Done<c_int> {
    let value = if received.more { T_MORE } else { 0 } | if received.expedited { T_EXPEDITED } else { 0 };
    memory::put(flags, value)?;
    Ok(received.len as c_int)
}

/// t_rcv(3).
///
/// # Safety
/// Safe for any pointers, which are checked, if no other thread uses what they point at during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_rcv(fd: c_int, bytes: *mut c_void, len: c_uint, flags: *mut c_int) -> c_int {
    returned(with(fd, |endpoint| {
        memory::check_room(flags)?;
        // SAFETY: `bytes_mut` checks `bytes`; the caller promises that no other thread uses them during the call.
        let room = unsafe { memory::bytes_mut(bytes, (len as usize).min(CALL_MAX))? };
        report(endpoint.receive(room)?, flags)
    }))
}

/// t_rcvv(3).
///
/// # Safety
/// Safe for any pointers, as [`t_rcv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_rcvv(fd: c_int, vector: *mut t_iovec, count: c_uint, flags: *mut c_int) -> c_int {
    returned(with(fd, |endpoint| {
        memory::check_room(flags)?;
        report(endpoint.receive_vectored(&mut scattered(vector, count)?)?, flags)
    }))
}
