//! t_open, t_close, t_sync, t_bind and t_unbind, and the calls that ask an endpoint.

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use headwater_streams::tpi::{ManagementFlags, TransportError};
use headwater_streams::{DevicePath, known_drivers};
use headwater_xti::{Binding, Endpoint, Info, OptionList, VECTOR_MAX};

use super::buffers::{Room, fill, given, needed, structure};
use super::{Done, Failed, caught, returned, with};
use crate::abi::{T_SENDZERO, t_bind, t_info, t_optmgmt};
use crate::calls::{close, open};
use crate::errno::Failure;
use crate::memory;
use crate::table;

/// t_open(3).
///
/// # Safety
/// Safe for any pointers, which are checked, if no other thread writes what they point at during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_open(name: *const c_char, flags: c_int, info: *mut t_info) -> c_int {
    returned(caught(|| {
        if flags & libc::O_ACCMODE != libc::O_RDWR || flags & !(libc::O_RDWR | libc::O_NONBLOCK) != 0 {
            return Err(TransportError::BadFlag.into());
        }
        if !info.is_null() {
            memory::check_room(info)?;
        }
        // SAFETY: `memory::text` checks `name`; the caller promises that no other thread writes it during the call.
        let name = unsafe { memory::text(name, libc::PATH_MAX as usize)? };
        let path = name.to_str().ok().and_then(device).ok_or(TransportError::BadName)?;
        let fd = open::open_device(&path, flags).map_err(|failure| match failure {
            // No driver has the name, or the file of that name is no device.
            Failure(libc::ENOENT | libc::ENXIO) => TransportError::BadName.into(),
            failure => Failed::from(failure),
        })?;
        make(fd).and_then(|()| if info.is_null() { Ok(()) } else { tell(fd, info) }).map_err(|failed| {
            close::close(fd);
            match failed {
                // The driver is no transport.
                Failed { t_errno, .. } if t_errno == TransportError::BadFile.number().cast_signed() => {
                    TransportError::BadName.into()
                }
                failed => failed,
            }
        })?;
        Ok(fd)
    }))
}

/// Returns the path of the device that t_open names: `/dev/streams/NAME` as in open(2), or `/dev/NAME`.
fn device(name: &str) -> Option<String> {
    if DevicePath::parse(name).is_some() {
        return Some(name.to_owned());
    }
    let driver = name.strip_prefix("/dev/")?;
    known_drivers().contains(&driver).then(|| format!("/dev/streams/{driver}"))
}

/// Gives an open stream its endpoint.
fn make(fd: c_int) -> Done<()> {
    let made = table::with(fd, |open| {
        if open.transport.get().is_some() {
            return Ok(Ok(()));
        }
        let endpoint = match Endpoint::from_stream(open.stream.clone()) {
            Ok(endpoint) => endpoint,
            Err(error) => return Ok(Err(Failed::from(error))),
        };
        // Another thread may have set one meanwhile, which then stays.
        let _ = open.transport.set(Arc::new(endpoint));
        Ok(Ok(()))
    });
    made.unwrap_or(Ok(Err(TransportError::BadFile.into()))).map_err(Failed::from)?
}

fn tell(fd: c_int, place: *mut t_info) -> Done<()> {
    let Info { address, options, tsdu, etsdu, connect_data, disconnect_data, service, sends_zero, .. } =
        with(fd, |endpoint| Ok(endpoint.info()?))?;
    let info = t_info {
        addr: address,
        options,
        tsdu,
        etsdu,
        connect: connect_data,
        discon: disconnect_data,
        servtype: service as c_int,
        flags: if sends_zero { T_SENDZERO } else { 0 },
    };
    Ok(memory::put(place, info)?)
}

/// t_close(3).
#[unsafe(no_mangle)]
pub extern "C" fn t_close(fd: c_int) -> c_int {
    returned(with(fd, |_| Ok(())).map(|()| {
        close::close(fd);
        0
    }))
}

/// t_sync(3).
#[unsafe(no_mangle)]
pub extern "C" fn t_sync(fd: c_int) -> c_int {
    returned(caught(|| {
        make(fd)?;
        with(fd, |endpoint| Ok(endpoint.sync()?.number().into()))
    }))
}

/// t_getstate(3).
#[unsafe(no_mangle)]
pub extern "C" fn t_getstate(fd: c_int) -> c_int {
    returned(with(fd, |endpoint| Ok(endpoint.state().number().into())))
}

/// t_look(3).
#[unsafe(no_mangle)]
pub extern "C" fn t_look(fd: c_int) -> c_int {
    returned(with(fd, |endpoint| Ok(endpoint.look()?.map_or(0, |event| event.number()))))
}

/// t_getinfo(3).
///
/// # Safety
/// Safe for any `info`, as [`t_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_getinfo(fd: c_int, info: *mut t_info) -> c_int {
    returned(tell(fd, info).map(|()| 0))
}

/// t_bind(3).
///
/// # Safety
/// Safe for any pointers, as [`t_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_bind(fd: c_int, request: *const t_bind, answer: *mut t_bind) -> c_int {
    returned(with(fd, |endpoint| {
        let request = structure(request)?;
        let mut binding = Binding::any();
        if let Some(request) = request {
            binding.address = given(request.addr)?.to_vec();
            binding.waiting = request.qlen;
        }
        let mut room = Answer::from_ptr(answer, endpoint.first_info())?;
        let bound = endpoint.bind(&binding)?;
        if let Some(room) = &mut room {
            room.set_waiting(bound.waiting)?;
            room.address.fill(&bound.address)?;
        }
        Ok(0)
    }))
}

/// A t_bind to be filled.
struct Answer {
    at: *mut t_bind,
    address: Room,
}

impl Answer {
    fn from_ptr(at: *mut t_bind, info: &Info) -> Done<Option<Answer>> {
        if at.is_null() {
            return Ok(None);
        }
        memory::check_room(at)?;
        // SAFETY: only the address of a field is taken; `check_room` has checked the structure at `at`.
        Ok(Some(Answer { at, address: Room::from_ptr(unsafe { &raw mut (*at).addr }, info.address)? }))
    }

    fn set_waiting(&self, waiting: u32) -> Done<()> {
        // SAFETY: only the address of a field is taken; `from_ptr` has checked the structure.
        Ok(memory::put(unsafe { &raw mut (*self.at).qlen }, waiting)?)
    }
}

/// t_unbind(3).
#[unsafe(no_mangle)]
pub extern "C" fn t_unbind(fd: c_int) -> c_int {
    returned(with(fd, |endpoint| {
        endpoint.unbind()?;
        Ok(0)
    }))
}

/// t_getprotaddr(3).
///
/// # Safety
/// Safe for any pointers, as [`t_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_getprotaddr(fd: c_int, local: *mut t_bind, remote: *mut t_bind) -> c_int {
    returned(with(fd, |endpoint| {
        let info = endpoint.first_info();
        let (mut local, mut remote) = (Answer::from_ptr(local, info)?, Answer::from_ptr(remote, info)?);
        let addresses = endpoint.addresses()?;
        let mut parts: Vec<(&mut Room, &[u8])> = Vec::new();
        parts.extend(local.as_mut().map(|answer| (&mut answer.address, &addresses.local[..])));
        parts.extend(remote.as_mut().map(|answer| (&mut answer.address, &addresses.remote[..])));
        fill(&mut parts)?;
        Ok(0)
    }))
}

/// t_optmgmt(3).
///
/// # Safety
/// Safe for any pointers, as [`t_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_optmgmt(fd: c_int, request: *const t_optmgmt, answer: *mut t_optmgmt) -> c_int {
    returned(with(fd, |endpoint| {
        let request = needed(request)?;
        let list = OptionList::from(given(request.opt)?.to_vec());
        memory::check_room(answer)?;
        // SAFETY: only the addresses of fields are taken; `check_room` has checked the structure at `answer`.
        let (options, flags) = unsafe { (&raw mut (*answer).opt, &raw mut (*answer).flags) };
        let mut room = Room::from_ptr(options, endpoint.first_info().options)?;
        let asked = ManagementFlags::of(request.flags.cast_unsigned()).ok_or(TransportError::BadFlag)?;
        let (list, worst) = endpoint.manage_options(&list, asked)?;
        memory::put(flags, worst.bits().cast_signed())?;
        room.fill(list.bytes())?;
        Ok(0)
    }))
}

/// t_sysconf(3).
#[unsafe(no_mangle)]
pub extern "C" fn t_sysconf(name: c_int) -> c_int {
    returned(match name {
        libc::_SC_T_IOV_MAX => Ok(VECTOR_MAX as c_int),
        _ => Err(TransportError::BadFlag.into()),
    })
}
