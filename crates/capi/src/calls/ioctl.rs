//! ioctl: the requests of streamio(7). Any other request is sent down the stream as a transparent ioctl.

use std::ffi::{c_int, c_ulong, c_void};
use std::time::Duration;

use headwater_streams::limits::{STRMSGSZ, STRMSGSZ_MAX};
use headwater_streams::{ErrorOptions, IoctlTimeout, MuxId, ReadOptions, SignalEvents, WriteOptions};

use super::{asynchronous, epoll, terminal};
use crate::abi::*;
use crate::errno::{Called, Failure, returned};
use crate::memory::{self, Program};
use crate::next::next;
use crate::own;
use crate::restart::restarting;
use crate::table::{self, Open};

mod files;
mod messages;
mod modules;

pub mod real {
    //! The same function in the library behind this one ([`next`](crate::next)).
    use super::{c_int, c_ulong, next};

    next! {
        ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int;
    }
}

const EINVAL: Failure = Failure(libc::EINVAL);

/// ioctl(2). The third argument is one word of whatever type.
///
/// # Safety
/// `argument` is as `request` requires. On a stream any value is safe: it is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int {
    match table::with(fd, |open| control(open, fd, request, argument)) {
        Some(done) => returned(done),
        None if request == I_ISASTREAM => returned(if own::is_open(fd) { Ok(0) } else { Err(Failure(libc::EBADF)) }),
        // SAFETY: the caller promises that `argument` is as `request` requires (ioctl(2)).
        None => unsafe { real::ioctl(fd, request, argument) },
    }
}

/// Converts the argument to an int.
fn as_int(argument: usize) -> c_int {
    argument as c_int
}

fn control(open: &Open, own_fd: c_int, request: c_ulong, argument: usize) -> Called<c_int> {
    let stream = &open.stream;
    // The stream is linked below a multiplexer, which alone uses it (STREAMS.md, section 4).
    if stream.links().is_linked() && request != I_ISASTREAM {
        return Err(EINVAL);
    }
    match request {
        I_NREAD => {
            let (bytes, messages) = stream.nread()?;
            memory::put(argument as *mut c_int, bytes as c_int)?;
            Ok(messages as c_int)
        }
        I_PUSH => modules::push(open, argument).inspect(|_| epoll::look_again(own_fd)),
        I_POP => modules::pop(open),
        I_LOOK => modules::look(open, argument),
        I_FIND => modules::find(open, argument),
        I_LIST => modules::list(open, argument),
        I_ANCHOR => modules::anchor(open),
        I_FLUSH => messages::flush(open, as_int(argument)),
        I_FLUSHBAND => messages::flush_band(open, argument),
        I_SRDOPT => {
            let bits = as_int(argument).cast_unsigned();
            done(stream.settings().set_read_options(ReadOptions::from_bits(bits)?))
        }
        I_GRDOPT => {
            memory::put(argument as *mut c_int, stream.settings().read_options().bits().cast_signed()).map(|()| 0)
        }
        I_SWROPT => {
            let bits = as_int(argument).cast_unsigned();
            done(open.write_side().settings().set_write_options(WriteOptions::from_bits(bits)?))
        }
        I_GWROPT => {
            memory::put(argument as *mut c_int, open.write_side().settings().write_options().bits().cast_signed())
                .map(|()| 0)
        }
        I_SERROPT => set_error_options(open, as_int(argument)),
        I_GERROPT => memory::put(argument as *mut c_int, error_options(open)).map(|()| 0),
        I_STR => string(open, argument as *mut strioctl),
        I_SETSIG => done(stream.signals().set(signals(as_int(argument))?)),
        I_GETSIG => {
            let events = stream.signals().get()?.bits().cast_signed();
            if events == 0 {
                return Err(EINVAL);
            }
            memory::put(argument as *mut c_int, events).map(|()| 0)
        }
        I_ESETSIG => {
            // SAFETY: `memory::get` checks that `argument` is readable, and any bytes are a valid strsigset.
            let wanted = unsafe { memory::get(argument as *const strsigset)? };
            done(stream.signals().set_for(wanted.ss_pid, signals(wanted.ss_events)?))
        }
        I_EGETSIG => {
            let place = argument as *mut strsigset;
            // SAFETY: `memory::get` checks that `place` is readable, and any bytes are a valid strsigset.
            let asked = unsafe { memory::get(place)? };
            let events = stream.signals().get_for(asked.ss_pid)?.bits().cast_signed();
            memory::put(place, strsigset { ss_events: events, ..asked }).map(|()| 0)
        }
        I_LINK | I_PLINK => link(open, request, as_int(argument)),
        I_UNLINK | I_PUNLINK => unlink(open, request, as_int(argument)),
        I_PEEK => messages::peek(open, argument as *mut strpeek),
        I_FDINSERT => messages::insert(open, argument as *const strfdinsert),
        I_GETPMSG => messages::get(open, argument as *mut strpmsg),
        I_PUTPMSG => messages::put(open, argument as *const strpmsg),
        I_SENDFD => files::send(open, as_int(argument)),
        I_RECVFD | I_E_RECVFD => files::receive(open, argument as *mut strrecvfd),
        I_CKBAND => {
            let band = u8::try_from(as_int(argument)).map_err(|_| EINVAL)?;
            Ok(stream.has_band(band)?.into())
        }
        I_GETBAND => {
            let place = argument as *mut c_int;
            memory::check_room(place)?;
            memory::put(place, stream.band()?.into()).map(|()| 0)
        }
        I_CANPUT => match as_int(argument) {
            // ANYBAND.
            -1 => Ok(open.write_side().can_put_in_any_band()?.into()),
            band => Ok(open.write_side().can_put(u8::try_from(band).map_err(|_| EINVAL)?)?.into()),
        },
        I_ATMARK => match as_int(argument) {
            ANYMARK => Ok(stream.is_at_mark()?.into()),
            LASTMARK => Ok(stream.is_at_last_mark()?.into()),
            _ => Err(EINVAL),
        },
        I_SETCLTIME => {
            // SAFETY: `memory::get` checks that `argument` is readable, and any bytes are a valid int.
            let milliseconds = unsafe { memory::get(argument as *const c_int)? };
            let time = Duration::from_millis(u64::try_from(milliseconds).map_err(|_| EINVAL)?);
            done(stream.settings().set_close_time(time))
        }
        I_GETCLTIME => {
            let milliseconds = c_int::try_from(stream.settings().close_time().as_millis()).unwrap_or(c_int::MAX);
            memory::put(argument as *mut c_int, milliseconds).map(|()| 0)
        }
        I_SET_HIWAT => {
            let hiwat = u32::try_from(as_int(argument)).map_err(|_| EINVAL)?;
            done(stream.settings().set_water_marks(hiwat, stream.settings().water_marks().1))
        }
        I_SET_LOWAT => {
            let lowat = u32::try_from(as_int(argument)).map_err(|_| EINVAL)?;
            done(stream.settings().set_water_marks(stream.settings().water_marks().0, lowat))
        }
        I_GET_HIWAT => memory::put(argument as *mut c_int, stream.settings().water_marks().0.cast_signed()).map(|()| 0),
        I_GET_LOWAT => memory::put(argument as *mut c_int, stream.settings().water_marks().1.cast_signed()).map(|()| 0),
        I_ISASTREAM => Ok(1),
        // The stream is a pipe already, or it is one that cannot become a pipe.
        I_PIPE => Err(EINVAL),
        libc::FIONREAD => {
            let bytes = c_int::try_from(stream.readable_bytes()?).unwrap_or(c_int::MAX);
            memory::put(argument as *mut c_int, bytes).map(|()| 0)
        }
        libc::FIONBIO => {
            // SAFETY: `memory::get` checks that `argument` is readable, and any bytes are a valid int.
            let on = unsafe { memory::get(argument as *const c_int)? };
            open.set_nonblocking(on != 0).map(|()| 0)
        }
        libc::FIOASYNC => {
            // SAFETY: `memory::get` checks that `argument` is readable, and any bytes are a valid int.
            let on = unsafe { memory::get(argument as *const c_int)? };
            asynchronous::set(open, own_fd, on != 0).map(|()| 0)
        }
        // The kernel keeps this flag for the descriptor.
        libc::FIOCLEX | libc::FIONCLEX => {
            // SAFETY: these two requests have no argument.
            match unsafe { real::ioctl(own_fd, request, argument) } {
                -1 => Err(crate::errno::last()),
                value => Ok(value),
            }
        }
        _ => transparent(open, request, argument),
    }
}

fn done(result: headwater_streams::Result<()>) -> Called<c_int> {
    Ok(result.map(|()| 0)?)
}

/// Sends a request that the stream head does not know.
fn transparent(open: &Open, request: c_ulong, argument: usize) -> Called<c_int> {
    let command = u32::try_from(request).map_err(|_| EINVAL)?;
    if terminal::is_in_vain(open, command) {
        return Err(EINVAL);
    }
    restarting(|| Ok(open.stream.transparent_ioctl(command, argument as u64, &mut Program)?))
}

/// Converts the events of I_SETSIG; 0 ends the registration.
fn signals(events: c_int) -> Called<SignalEvents> {
    SignalEvents::from_bits(events.cast_unsigned()).ok_or(EINVAL)
}

fn set_error_options(open: &Open, bits: c_int) -> Called<c_int> {
    if bits & !(RERRNONPERSIST | WERRNONPERSIST) != 0 {
        return Err(EINVAL);
    }
    let options = ErrorOptions::new().read_once(bits & RERRNONPERSIST != 0).write_once(bits & WERRNONPERSIST != 0);
    open.stream.settings().set_error_options(options);
    Ok(0)
}

fn error_options(open: &Open) -> c_int {
    let options = open.stream.settings().error_options();
    (if options.read_once { RERRNONPERSIST } else { RERRNORM })
        | (if options.write_once { WERRNONPERSIST } else { WERRNORM })
}

/// Makes I_STR: sends a request with its data, and copies the answer to the program.
fn string(open: &Open, place: *mut strioctl) -> Called<c_int> {
    // SAFETY: `memory::get` checks that `place` is readable, and any bytes are a valid strioctl.
    let wanted = unsafe { memory::get(place)? };
    memory::check_room(place)?;
    let timeout = IoctlTimeout::from_seconds(wanted.ic_timout)?;
    let len = usize::try_from(wanted.ic_len).ok().filter(|len| *len <= STRMSGSZ_MAX as usize).ok_or(EINVAL)?;
    // SAFETY: `memory::bytes` checks the bytes, which are copied at once.
    let data = unsafe { memory::bytes(wanted.ic_dp.cast::<c_void>(), len) };
    // A length that no stream takes is refused before the address is.
    let mut data = data.map_err(|fault| if len > STRMSGSZ as usize { EINVAL } else { fault })?.to_vec();
    let value = open.stream.ioctl(wanted.ic_cmd.cast_unsigned(), &mut data, timeout)?;
    // SAFETY: `bytes_mut` checks the bytes, which are only written.
    unsafe { memory::bytes_mut(wanted.ic_dp.cast::<c_void>(), data.len())? }.copy_from_slice(&data);
    memory::put(place, strioctl { ic_len: data.len() as c_int, ..wanted })?;
    Ok(value)
}

fn link(open: &Open, request: c_ulong, lower: c_int) -> Called<c_int> {
    // A stream that is no multiplexer fails before the other stream is looked at.
    if !open.stream.links().is_multiplexer() {
        return Err(EINVAL);
    }
    let Some(found) = table::with(lower, |lower| Ok(lower.stream.clone())) else {
        return Err(if own::is_open(lower) { EINVAL } else { Failure(libc::EBADF) });
    };
    let lower = found?;
    let id = if request == I_LINK {
        open.stream.links().link(&lower)?
    } else {
        open.stream.links().link_persistent(&lower)?
    };
    Ok(id.number().cast_signed())
}

fn unlink(open: &Open, request: c_ulong, id: c_int) -> Called<c_int> {
    let id = match id {
        MUXID_ALL => None,
        id => Some(u32::try_from(id).ok().and_then(MuxId::new).ok_or(EINVAL)?),
    };
    done(if request == I_UNLINK { open.stream.links().unlink(id) } else { open.stream.links().unlink_persistent(id) })
}
