//! I_FLUSH, I_FLUSHBAND, I_PEEK, I_FDINSERT, I_GETPMSG and I_PUTPMSG.

use std::ffi::c_int;

use headwater_streams::{Flush, MessageFilter, Priority};

use crate::abi::{FLUSHR, FLUSHW, RS_HIPRI, bandinfo, strfdinsert, strpeek, strpmsg};
use crate::calls::message::{get_by_band, put_in_band, receive_by, sent};
use crate::errno::{Called, Failure};
use crate::memory;
use crate::restart::restarting;
use crate::table::{self, Open};

const EINVAL: Failure = Failure(libc::EINVAL);

/// Converts FLUSHR, FLUSHW or FLUSHRW to the queues that are flushed.
fn queues(flags: c_int) -> Called<Flush> {
    if flags & (FLUSHR | FLUSHW) == 0 || flags & !(FLUSHR | FLUSHW) != 0 {
        return Err(EINVAL);
    }
    Ok(match (flags & FLUSHR != 0, flags & FLUSHW != 0) {
        (true, true) => Flush::ALL,
        (true, false) => Flush::READ,
        _ => Flush::WRITE,
    })
}

pub fn flush(open: &Open, flags: c_int) -> Called<c_int> {
    open.write_side().flush_queues(queues(flags)?)?;
    Ok(0)
}

pub fn flush_band(open: &Open, argument: usize) -> Called<c_int> {
    // SAFETY: `memory::get` checks that `argument` is readable, and any bytes are a valid bandinfo.
    let wanted = unsafe { memory::get(argument as *const bandinfo)? };
    open.write_side().flush_queues(queues(wanted.bi_flag)?.in_band(wanted.bi_pri))?;
    Ok(0)
}

pub fn peek(open: &Open, place: *mut strpeek) -> Called<c_int> {
    // SAFETY: `memory::get` checks that `place` is readable, and any bytes are a valid strpeek.
    let wanted = unsafe { memory::get(place)? };
    memory::check_room(place)?;
    let filter = match wanted.flags as c_int {
        0 => MessageFilter::Any,
        RS_HIPRI => MessageFilter::HighPriority,
        _ => return Err(EINVAL),
    };
    // SAFETY: only the addresses of fields are taken; `check_room` has checked the structure at `place`.
    let (control, data) = unsafe { (&raw mut (*place).ctlbuf, &raw mut (*place).databuf) };
    let seen = receive_by(control, data, |control, data| Ok(open.stream.peek(control, data, filter)?))?;
    let Some(seen) = seen else { return Ok(0) };
    let flags = if seen.priority.is_high() { RS_HIPRI } else { 0 };
    // SAFETY: only the address of a field is taken; `check_room` has checked the structure at `place`.
    memory::put(unsafe { &raw mut (*place).flags }, flags.into())?;
    Ok(1)
}

pub fn insert(open: &Open, place: *const strfdinsert) -> Called<c_int> {
    // SAFETY: `memory::get` checks that `place` is readable, and any bytes are a valid strfdinsert.
    let wanted = unsafe { memory::get(place)? };
    let priority = match wanted.flags as c_int {
        0 => Priority::NORMAL,
        RS_HIPRI => Priority::High,
        _ => return Err(EINVAL),
    };
    let offset = usize::try_from(wanted.offset).map_err(|_| EINVAL)?;
    // SAFETY: only the addresses of fields are taken; `memory::get` has checked the structure at `place`.
    let (control, data) = unsafe { (&raw const (*place).ctlbuf, &raw const (*place).databuf) };
    let control = sent(control)?.ok_or(EINVAL)?;
    let data = sent(data)?;
    // A descriptor that is not open fails with EINVAL too: POSIX has no EBADF here.
    let other = table::with(wanted.fildes, |other| Ok(other.stream.clone())).ok_or(EINVAL)??;
    restarting(|| Ok(open.write_side().putmsg_naming(control, data, priority, &other, offset)?))?;
    Ok(0)
}

/// Makes I_GETPMSG: getpmsg as an ioctl.
pub fn get(open: &Open, place: *mut strpmsg) -> Called<c_int> {
    memory::check_room(place)?;
    // SAFETY: only the addresses of fields are taken; `check_room` has checked the structure at `place`.
    let (control, data, band, flags) = unsafe {
        (&raw mut (*place).ctlbuf, &raw mut (*place).databuf, &raw mut (*place).band, &raw mut (*place).flags)
    };
    get_by_band(open, control, data, band, flags)
}

/// Makes I_PUTPMSG: putpmsg as an ioctl.
pub fn put(open: &Open, place: *const strpmsg) -> Called<c_int> {
    // SAFETY: `memory::get` checks that `place` is readable, and any bytes are a valid strpmsg.
    let wanted = unsafe { memory::get(place)? };
    // SAFETY: only the addresses of fields are taken; `memory::get` has checked the structure at `place`.
    let (control, data) = unsafe { (&raw const (*place).ctlbuf, &raw const (*place).databuf) };
    put_in_band(open, control, data, wanted.band, wanted.flags)
}
