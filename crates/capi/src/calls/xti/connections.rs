//! t_connect, t_listen and t_accept, and the calls that end connections.

use std::ffi::c_int;

use headwater_xti::{Call, Info, State};

use super::buffers::{Room, fill, given, needed, structure};
use super::{Done, endpoint, returned, with};
use crate::abi::{t_call, t_discon};
use crate::memory;

/// Reads the call that the caller has filled in. A null pointer gives an empty one.
fn call_of(at: *const t_call) -> Done<(Call, u32)> {
    let Some(given_call) = structure(at)? else { return Ok((Call::default(), 0)) };
    let mut call = Call::to(given(given_call.addr)?);
    call.options = given(given_call.opt)?.to_vec();
    call.data = given(given_call.udata)?.to_vec();
    Ok((call, given_call.sequence.cast_unsigned()))
}

/// A t_call to be filled.
struct Answer {
    at: *mut t_call,
    address: Room,
    options: Room,
    data: Room,
}

impl Answer {
    fn from_ptr(at: *mut t_call, info: &Info) -> Done<Option<Answer>> {
        if at.is_null() {
            return Ok(None);
        }
        memory::check_room(at)?;
        // SAFETY: only the addresses of fields are taken; `check_room` has checked the structure at `at`.
        let (address, options, data) = unsafe { (&raw mut (*at).addr, &raw mut (*at).opt, &raw mut (*at).udata) };
        Ok(Some(Answer {
            at,
            address: Room::from_ptr(address, info.address)?,
            options: Room::from_ptr(options, info.options)?,
            data: Room::from_ptr(data, info.connect_data)?,
        }))
    }

    fn fill(&mut self, call: &Call, sequence: Option<u32>) -> Done<()> {
        if let Some(sequence) = sequence {
            // SAFETY: only the address of a field is taken; `from_ptr` has checked the structure.
            memory::put(unsafe { &raw mut (*self.at).sequence }, sequence.cast_signed())?;
        }
        fill(&mut [
            (&mut self.address, &call.address),
            (&mut self.options, &call.options),
            (&mut self.data, &call.data),
        ])
    }
}

/// t_connect(3).
///
/// # Safety
/// Safe for any pointers, which are checked, if no other thread writes what they point at during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_connect(fd: c_int, request: *const t_call, answer: *mut t_call) -> c_int {
    returned(with(fd, |endpoint| {
        needed(request)?;
        let ((call, _), mut room) = (call_of(request)?, Answer::from_ptr(answer, endpoint.first_info())?);
        let got = endpoint.connect(&call)?;
        room.as_mut().map_or(Ok(()), |room| room.fill(&got, None))?;
        Ok(0)
    }))
}

/// t_rcvconnect(3).
///
/// # Safety
/// Safe for any `answer`, as [`t_connect`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_rcvconnect(fd: c_int, answer: *mut t_call) -> c_int {
    returned(with(fd, |endpoint| {
        let mut room = Answer::from_ptr(answer, endpoint.first_info())?;
        let got = endpoint.receive_connect()?;
        room.as_mut().map_or(Ok(()), |room| room.fill(&got, None))?;
        Ok(0)
    }))
}

/// t_listen(3).
///
/// # Safety
/// Safe for any `answer`, as [`t_connect`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_listen(fd: c_int, answer: *mut t_call) -> c_int {
    returned(with(fd, |endpoint| {
        needed(answer.cast_const())?;
        let mut room = Answer::from_ptr(answer, endpoint.first_info())?;
        let got = endpoint.listen()?;
        room.as_mut().map_or(Ok(()), |room| room.fill(&got.call, Some(got.sequence)))?;
        Ok(0)
    }))
}

/// t_accept(3).
///
/// # Safety
/// Safe for any `call`, as [`t_connect`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_accept(fd: c_int, acceptor: c_int, call: *const t_call) -> c_int {
    returned(with(fd, |listener| {
        needed(call)?;
        let (call, sequence) = call_of(call)?;
        listener.accept(&*endpoint(acceptor)?, sequence, &call)?;
        Ok(0)
    }))
}

/// t_snddis(3).
///
/// # Safety
/// Safe for any `call`, as [`t_connect`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_snddis(fd: c_int, call: *const t_call) -> c_int {
    returned(with(fd, |endpoint| {
        let (given_call, sequence) = call_of(call)?;
        if endpoint.state() == State::Listening && !call.is_null() {
            endpoint.refuse(sequence, &given_call.data)?;
        } else {
            endpoint.disconnect(&given_call.data)?;
        }
        Ok(0)
    }))
}

/// A t_discon to be filled.
struct End {
    at: *mut t_discon,
    data: Room,
}

impl End {
    fn from_ptr(at: *mut t_discon, info: &Info) -> Done<Option<End>> {
        if at.is_null() {
            return Ok(None);
        }
        memory::check_room(at)?;
        // SAFETY: only the address of a field is taken; `check_room` has checked the structure at `at`.
        Ok(Some(End { at, data: Room::from_ptr(unsafe { &raw mut (*at).udata }, info.disconnect_data)? }))
    }

    fn fill(&mut self, reason: u32, sequence: Option<u32>, data: &[u8]) -> Done<()> {
        // SAFETY: only the addresses of fields are taken; `from_ptr` has checked the structure.
        let (reason_at, sequence_at) = unsafe { (&raw mut (*self.at).reason, &raw mut (*self.at).sequence) };
        memory::put(reason_at, reason.cast_signed())?;
        memory::put(sequence_at, sequence.map_or(-1, u32::cast_signed))?;
        self.data.fill(data)
    }
}

/// t_rcvdis(3).
///
/// # Safety
/// Safe for any `place`, as [`t_connect`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_rcvdis(fd: c_int, place: *mut t_discon) -> c_int {
    returned(with(fd, |endpoint| {
        let mut room = End::from_ptr(place, endpoint.first_info())?;
        let got = endpoint.receive_disconnect()?;
        room.as_mut().map_or(Ok(()), |room| room.fill(got.reason, got.sequence, &got.data))?;
        Ok(0)
    }))
}

/// t_sndrel(3).
#[unsafe(no_mangle)]
pub extern "C" fn t_sndrel(fd: c_int) -> c_int {
    returned(with(fd, |endpoint| {
        endpoint.release(&[])?;
        Ok(0)
    }))
}

/// t_sndreldata(3).
///
/// # Safety
/// Safe for any `given_end`, as [`t_connect`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_sndreldata(fd: c_int, given_end: *mut t_discon) -> c_int {
    returned(with(fd, |endpoint| {
        let data = match structure(given_end.cast_const())? {
            Some(end) => given(end.udata)?,
            None => &[],
        };
        endpoint.release(data)?;
        Ok(0)
    }))
}

/// t_rcvrel(3).
#[unsafe(no_mangle)]
pub extern "C" fn t_rcvrel(fd: c_int) -> c_int {
    returned(with(fd, |endpoint| {
        endpoint.receive_release()?;
        Ok(0)
    }))
}

/// t_rcvreldata(3).
///
/// # Safety
/// Safe for any `place`, as [`t_connect`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_rcvreldata(fd: c_int, place: *mut t_discon) -> c_int {
    returned(with(fd, |endpoint| {
        let mut room = End::from_ptr(place, endpoint.first_info())?;
        let data = endpoint.receive_release()?;
        room.as_mut().map_or(Ok(()), |room| room.fill(0, None, &data))?;
        Ok(0)
    }))
}
