//! t_sndudata, t_rcvudata, t_rcvuderr, t_sndvudata and t_rcvvudata.

use std::ffi::{c_int, c_uint};

use headwater_xti::{Datagram, Info};

use super::buffers::{Room, fill, gathered, given, needed, scattered};
use super::{Done, returned, with};
use crate::abi::{T_INFINITE, T_MORE, t_iovec, t_uderr, t_unitdata};
use crate::memory;

/// t_sndudata(3).
///
/// # Safety
/// Safe for any pointers, which are checked, if no other thread writes what they point at during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_sndudata(fd: c_int, datagram: *const t_unitdata) -> c_int {
    returned(with(fd, |endpoint| {
        let datagram = needed(datagram)?;
        endpoint.send_to(given(datagram.addr)?, given(datagram.opt)?, given(datagram.udata)?)?;
        Ok(0)
    }))
}

/// t_sndvudata(3).
///
/// # Safety
/// Safe for any pointers, as [`t_sndudata`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_sndvudata(
    fd: c_int,
    datagram: *mut t_unitdata,
    vector: *mut t_iovec,
    count: c_uint,
) -> c_int {
    returned(with(fd, |endpoint| {
        let datagram = needed(datagram.cast_const())?;
        let pieces = gathered(vector, count)?;
        endpoint.send_vectored_to(given(datagram.addr)?, given(datagram.opt)?, &pieces)?;
        Ok(0)
    }))
}

/// Returns the buffers for an address and for options.
fn address_and_options(datagram: *mut t_unitdata, info: &Info) -> Done<(Room, Room)> {
    memory::check_room(datagram)?;
    // SAFETY: only the addresses of fields are taken; `check_room` has checked the structure at `datagram`.
    let (address, options) = unsafe { (&raw mut (*datagram).addr, &raw mut (*datagram).opt) };
    Ok((Room::from_ptr(address, info.address)?, Room::from_ptr(options, info.options)?))
}

/// Stores the lengths and the flags of what was received. Returns the count of bytes of data.
fn report(received: Datagram, address: &Room, options: &Room, flags: *mut c_int) -> Done<c_int> {
    address.set_len(received.address)?;
    options.set_len(received.options)?;
    memory::put(flags, if received.more { T_MORE } else { 0 })?;
    Ok(received.data as c_int)
}

/// t_rcvudata(3).
///
/// # Safety
/// Safe for any pointers, as [`t_sndudata`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_rcvudata(fd: c_int, datagram: *mut t_unitdata, flags: *mut c_int) -> c_int {
    returned(with(fd, |endpoint| {
        memory::check_room(flags)?;
        let (address, options) = address_and_options(datagram, endpoint.first_info())?;
        // T_INFINITE, because the longest datagram may have changed since the endpoint got its address.
        // SAFETY: only the address of a field is taken; `address_and_options` has checked the structure at `datagram`.
        let data = Room::from_ptr(unsafe { &raw mut (*datagram).udata }, T_INFINITE)?;
        let received = endpoint.receive_from(address.buffer, options.buffer, data.buffer)?;
        data.set_len(report(received, &address, &options, flags)? as usize)?;
        Ok(0)
    }))
}

/// t_rcvvudata(3).
///
/// # Safety
/// Safe for any pointers, as [`t_sndudata`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_rcvvudata(
    fd: c_int,
    datagram: *mut t_unitdata,
    vector: *mut t_iovec,
    count: c_uint,
    flags: *mut c_int,
) -> c_int {
    returned(with(fd, |endpoint| {
        memory::check_room(flags)?;
        let (address, options) = address_and_options(datagram, endpoint.first_info())?;
        let mut buffers = scattered(vector, count)?;
        let received = endpoint.receive_vectored_from(address.buffer, options.buffer, &mut buffers)?;
        report(received, &address, &options, flags)
    }))
}

/// t_rcvuderr(3).
///
/// # Safety
/// Safe for any pointers, as [`t_sndudata`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_rcvuderr(fd: c_int, place: *mut t_uderr) -> c_int {
    returned(with(fd, |endpoint| {
        if place.is_null() {
            endpoint.receive_error()?;
            return Ok(0);
        }
        memory::check_room(place)?;
        // SAFETY: only the addresses of fields are taken; `check_room` has checked the structure at `place`.
        let (address, options, error) =
            unsafe { (&raw mut (*place).addr, &raw mut (*place).opt, &raw mut (*place).error) };
        let info = endpoint.first_info();
        let (mut address, mut options) =
            (Room::from_ptr(address, info.address)?, Room::from_ptr(options, info.options)?);
        let got = endpoint.receive_error()?;
        memory::put(error, got.error.cast_signed())?;
        fill(&mut [(&mut address, &got.address), (&mut options, &got.options)])?;
        Ok(0)
    }))
}
