//! t_alloc and t_free: they allocate structures and their buffers from the C library's heap.

use std::ffi::{c_int, c_void};
use std::ptr;

use headwater_xti::TransportError;

use super::{Done, note, returned, with};
use crate::abi::{
    T_ADDR, T_ALL, T_BIND, T_CALL, T_DIS, T_INFINITE, T_INFO, T_OPT, T_OPTMGMT, T_UDATA, T_UDERROR, T_UNITDATA, netbuf,
    t_bind, t_call, t_discon, t_info, t_optmgmt, t_uderr, t_unitdata,
};
use crate::errno::Failure;

/// The size in bytes of a buffer for data without a limit.
const UNLIMITED: usize = 4096;

/// A kind of structure: its constant, its size in bytes, and its buffers. For each buffer, the flag that asks for it
/// and its offset.
type Kind = (c_int, usize, &'static [(c_int, usize)]);

macro_rules! kinds {
    ($($number:ident $name:ident { $($field:ident $asked:ident),* })*) => {
        const KINDS: &[Kind] = &[$(
            ($number, size_of::<$name>(), &[$(($asked, std::mem::offset_of!($name, $field))),*]),
        )*];
    };
}

kinds! {
    T_BIND t_bind { addr T_ADDR }
    T_OPTMGMT t_optmgmt { opt T_OPT }
    T_CALL t_call { addr T_ADDR, opt T_OPT, udata T_UDATA }
    T_DIS t_discon { udata T_UDATA }
    T_UNITDATA t_unitdata { addr T_ADDR, opt T_OPT, udata T_UDATA }
    T_UDERROR t_uderr { addr T_ADDR, opt T_OPT }
    T_INFO t_info { }
}

fn kind(number: c_int) -> Done<&'static Kind> {
    Ok(KINDS.iter().find(|(other, ..)| *other == number).ok_or(TransportError::NoStructure)?)
}

/// Allocates zeroed memory of at least one byte, aligned for any type.
fn zeroed(len: usize) -> Done<*mut c_void> {
    // SAFETY: calloc takes no pointer, and allocates memory or fails.
    let place = unsafe { libc::calloc(1, len.max(1)) };
    if place.is_null() { Err(Failure(libc::ENOMEM).into()) } else { Ok(place) }
}

/// t_alloc(3).
#[unsafe(no_mangle)]
pub extern "C" fn t_alloc(fd: c_int, structure: c_int, fields: c_int) -> *mut c_void {
    let made = with(fd, |endpoint| {
        let (_, size, buffers) = kind(structure)?;
        let info = endpoint.info()?;
        let data = match structure {
            T_CALL => info.connect_data,
            T_DIS => info.disconnect_data,
            _ => info.tsdu,
        };
        let len_of = |field| match field {
            T_ADDR => info.address,
            T_OPT => info.options,
            _ => data,
        };
        let mut wanted = Vec::new();
        for (field, at) in buffers.iter().filter(|(field, _)| fields & field != 0) {
            match usize::try_from(len_of(*field)) {
                Ok(len) => wanted.push((*at, len)),
                Err(_) if len_of(*field) == T_INFINITE => wanted.push((*at, UNLIMITED)),
                // The transport does not have this. It is an error only if the caller has asked for it by name.
                Err(_) if fields == T_ALL => {}
                Err(_) => return Err(Failure(libc::EINVAL).into()),
            }
        }
        let place = zeroed(*size)?;
        for (at, len) in wanted {
            let buf = zeroed(len).inspect_err(|_| free(place, buffers))?;
            let buffer = netbuf { maxlen: len as u32, len: 0, buf };
            // SAFETY: `at` is the offset of a netbuf in the structure at `place`, which was just allocated.
            unsafe { place.byte_add(at).cast::<netbuf>().write(buffer) };
        }
        Ok(place)
    });
    made.unwrap_or_else(|failed| {
        note(failed);
        ptr::null_mut()
    })
}

fn free(place: *mut c_void, buffers: &[(c_int, usize)]) {
    for (_, at) in buffers {
        // SAFETY: the caller of t_free promises a structure of this kind, so `at` is the offset of a netbuf, whose
        // buffer is null or of the same heap. t_alloc passes such a structure too.
        unsafe { libc::free((*place.byte_add(*at).cast::<netbuf>()).buf) };
    }
    // SAFETY: the caller of t_free promises that `place` is from t_alloc, and it is used no more.
    unsafe { libc::free(place) };
}

/// t_free(3).
///
/// # Safety
/// `place` is null, or t_alloc has made it as a `structure`. Each of its buffers is null or from t_alloc or malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_free(place: *mut c_void, structure: c_int) -> c_int {
    returned(kind(structure).map(|(_, _, buffers)| {
        if !place.is_null() {
            free(place, buffers);
        }
        0
    }))
}
