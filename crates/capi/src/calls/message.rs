//! getmsg, getpmsg, putmsg and putpmsg, and the same calls as ioctls.

use std::ffi::{c_int, c_void};

use headwater_streams::{MessageFilter, Priority, Received};

use crate::abi::{MORECTL, MOREDATA, MSG_ANY, MSG_BAND, MSG_HIPRI, RS_HIPRI, strbuf};
use crate::errno::{Called, Failure, returned};
use crate::memory::{self, CALL_MAX};
use crate::restart::restarting;
use crate::table::{self, Open};

const EINVAL: Failure = Failure(libc::EINVAL);

/// getmsg(3).
///
/// # Safety
/// Safe for any pointers, which are checked, if no other thread writes what they point at during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getmsg(fd: c_int, control: *mut strbuf, data: *mut strbuf, flags: *mut c_int) -> c_int {
    returned(table::with_stream(fd, |open| get(open, control, data, flags)))
}

/// getpmsg(3).
///
/// # Safety
/// Safe for any pointers, as [`getmsg`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getpmsg(
    fd: c_int,
    control: *mut strbuf,
    data: *mut strbuf,
    band: *mut c_int,
    flags: *mut c_int,
) -> c_int {
    returned(table::with_stream(fd, |open| get_by_band(open, control, data, band, flags)))
}

/// putmsg(3).
///
/// # Safety
/// Safe for any pointers, as [`getmsg`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn putmsg(fd: c_int, control: *const strbuf, data: *const strbuf, flags: c_int) -> c_int {
    returned(table::with_stream(fd, |open| put(open, control, data, flags)))
}

/// putpmsg(3).
///
/// # Safety
/// Safe for any pointers, as [`getmsg`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn putpmsg(
    fd: c_int,
    control: *const strbuf,
    data: *const strbuf,
    band: c_int,
    flags: c_int,
) -> c_int {
    returned(table::with_stream(fd, |open| put_in_band(open, control, data, band, flags)))
}

fn get(open: &Open, control: *mut strbuf, data: *mut strbuf, flags: *mut c_int) -> Called<c_int> {
    // SAFETY: `memory::get` checks that `flags` is readable, and any bytes are a valid int.
    let wanted = unsafe { memory::get(flags)? };
    memory::check_room(flags)?;
    let filter = match wanted {
        0 => MessageFilter::Any,
        RS_HIPRI => MessageFilter::HighPriority,
        _ => return Err(EINVAL),
    };
    let received = receive(open, control, data, filter)?;
    memory::put(flags, if received.priority.is_high() { RS_HIPRI } else { 0 })?;
    Ok(more(&received))
}

pub fn get_by_band(
    open: &Open,
    control: *mut strbuf,
    data: *mut strbuf,
    band: *mut c_int,
    flags: *mut c_int,
) -> Called<c_int> {
    // SAFETY: `memory::get` checks that `flags` and `band` are readable, and any bytes are valid ints.
    let (wanted, least) = unsafe { (memory::get(flags)?, memory::get(band)?) };
    memory::check_room(flags)?;
    memory::check_room(band)?;
    let filter = match wanted {
        MSG_ANY => MessageFilter::Any,
        MSG_HIPRI if least == 0 => MessageFilter::HighPriority,
        MSG_BAND => MessageFilter::Band(u8::try_from(least).map_err(|_| EINVAL)?),
        _ => return Err(EINVAL),
    };
    let received = receive(open, control, data, filter)?;
    let is_high = received.priority.is_high();
    memory::put(flags, if is_high { MSG_HIPRI } else { MSG_BAND })?;
    memory::put(band, if is_high { 0 } else { received.priority.band().into() })?;
    Ok(more(&received))
}

/// Returns what getmsg returns.
fn more(received: &Received) -> c_int {
    (if received.more_control { MORECTL } else { 0 }) | (if received.more_data { MOREDATA } else { 0 })
}

/// A part to be received, as a strbuf describes it.
struct Part {
    at: *mut strbuf,
    /// `None` if the part is not asked for.
    buffer: Option<&'static mut [u8]>,
}

impl Part {
    /// Checks the strbuf and its buffer, before anything is received.
    pub fn from_ptr(at: *mut strbuf) -> Called<Part> {
        if at.is_null() {
            return Ok(Part { at, buffer: None });
        }
        // SAFETY: `memory::get` checks that `at` is readable, and any bytes are a valid strbuf.
        let described = unsafe { memory::get(at)? };
        memory::check_room(at)?;
        let buffer = match usize::try_from(described.maxlen) {
            Err(_) => None,
            // SAFETY: `bytes_mut` checks the buffer; the caller of getmsg promises that no other thread uses it during
            // the call.
            Ok(len) => Some(unsafe { memory::bytes_mut(described.buf.cast::<c_void>(), len.min(CALL_MAX))? }),
        };
        Ok(Part { at, buffer })
    }

    /// Stores the length of what was received.
    fn set_len(&self, len: Option<usize>) -> Called<()> {
        if self.at.is_null() {
            return Ok(());
        }
        // SAFETY: only the address is taken; `from_ptr` has checked the strbuf. No other field is written, because they
        // may be constant.
        memory::put(unsafe { &raw mut (*self.at).len }, len.map_or(-1, |len| len as c_int))
    }
}

/// Receives the parts by `receive`, which is getpmsg or a look at the message (I_PEEK), and stores their lengths.
pub fn receive_by(
    control: *mut strbuf,
    data: *mut strbuf,
    mut receive: impl FnMut(Option<&mut [u8]>, Option<&mut [u8]>) -> Called<Option<Received>>,
) -> Called<Option<Received>> {
    let (mut control, mut data) = (Part::from_ptr(control)?, Part::from_ptr(data)?);
    let received = receive(control.buffer.as_deref_mut(), data.buffer.as_deref_mut())?;
    if let Some(received) = received {
        control.set_len(received.control)?;
        data.set_len(received.data)?;
    }
    Ok(received)
}

fn receive(open: &Open, control: *mut strbuf, data: *mut strbuf, filter: MessageFilter) -> Called<Received> {
    open.check_reads()?;
    let received = receive_by(control, data, |mut control, mut data| {
        let mut once = || Ok(open.stream.getpmsg(control.as_deref_mut(), data.as_deref_mut(), filter)?);
        restarting(&mut once).map(Some)
    })?;
    received.ok_or(Failure(libc::EIO))
}

/// Returns a part to be sent. `None` if the message has no such part (a null pointer, or a len of -1).
///
/// Errors: `EFAULT`; `ERANGE` if the part is longer than the stream takes at once.
pub fn sent<'p>(at: *const strbuf) -> Called<Option<&'p [u8]>> {
    if at.is_null() {
        return Ok(None);
    }
    // SAFETY: `memory::get` checks that `at` is readable, and any bytes are a valid strbuf.
    let described = unsafe { memory::get(at)? };
    let Ok(len) = usize::try_from(described.len) else { return Ok(None) };
    // SAFETY: `memory::bytes` checks the bytes; the caller of putmsg promises that no other thread writes them during
    // the call.
    unsafe { memory::bytes(described.buf.cast_const().cast::<c_void>(), len) }.map(Some)
}

fn put(open: &Open, control: *const strbuf, data: *const strbuf, flags: c_int) -> Called<c_int> {
    let priority = match flags {
        0 => Priority::NORMAL,
        RS_HIPRI => Priority::High,
        _ => return Err(EINVAL),
    };
    let (control, data) = (sent(control)?, sent(data)?);
    send(open, control, data, priority)
}

pub fn put_in_band(
    open: &Open,
    control: *const strbuf,
    data: *const strbuf,
    band: c_int,
    flags: c_int,
) -> Called<c_int> {
    let priority = match (flags, u8::try_from(band)) {
        (MSG_BAND, Ok(band)) => Priority::from(band),
        (MSG_HIPRI, Ok(0)) => Priority::High,
        _ => return Err(EINVAL),
    };
    let (control, data) = (sent(control)?, sent(data)?);
    send(open, control, data, priority)
}

fn send(open: &Open, control: Option<&[u8]>, data: Option<&[u8]>, priority: Priority) -> Called<c_int> {
    let stream = open.to_write()?;
    // A message of high priority must have a control part.
    if priority.is_high() && control.is_none() {
        return Err(EINVAL);
    }
    if control.is_none() && data.is_none() {
        return Ok(0);
    }
    restarting(|| {
        stream.putpmsg(control, data, priority)?;
        Ok(0)
    })
}
