//! I_PUSH, I_POP, I_LOOK, I_FIND, I_LIST and I_ANCHOR.

use std::ffi::{c_char, c_int};

use headwater_streams::limits::NAME_MAX;

use crate::abi::{FMNAMESZ, str_list, str_mlist};
use crate::errno::{Called, Failure};
use crate::memory;
use crate::table::Open;

const EINVAL: Failure = Failure(libc::EINVAL);

/// Reads a module's name of at most `len_max` bytes, which the program passes.
///
/// Errors: `EFAULT`; `EINVAL` if the name is empty or too long.
fn name<'p>(argument: usize, len_max: usize) -> Called<&'p str> {
    // SAFETY: `memory::text` checks the string at `argument`; the program must not change it during the call.
    let name = match unsafe { memory::text(argument as *const c_char, len_max + 1) } {
        Err(Failure(libc::ENAMETOOLONG)) => return Err(EINVAL),
        name => name?,
    };
    name.to_str().ok().filter(|name| !name.is_empty()).ok_or(EINVAL)
}

/// Cuts a name to the length that a program has room for.
fn cut(name: &str) -> &[u8] {
    &name.as_bytes()[..name.len().min(FMNAMESZ)]
}

/// Returns the name, cut, with NULs in the remaining bytes.
fn field(name: &str) -> [c_char; FMNAMESZ + 1] {
    let mut field = [0; FMNAMESZ + 1];
    for (place, byte) in field.iter_mut().zip(cut(name)) {
        *place = *byte as c_char;
    }
    field
}

pub fn push(open: &Open, argument: usize) -> Called<c_int> {
    open.stream.push(name(argument, FMNAMESZ)?)?;
    Ok(0)
}

pub fn pop(open: &Open) -> Called<c_int> {
    open.stream.pop()?;
    Ok(0)
}

pub fn look(open: &Open, argument: usize) -> Called<c_int> {
    let name = open.stream.modules().look()?;
    memory::put(argument as *mut [c_char; FMNAMESZ + 1], field(&name)).map(|()| 0)
}

/// Makes I_FIND. The name may be a whole one, or one that I_LOOK and I_LIST have cut.
pub fn find(open: &Open, argument: usize) -> Called<c_int> {
    let name = name(argument, NAME_MAX)?;
    if open.stream.modules().list()?.iter().any(|on_it| cut(on_it) == name.as_bytes()) {
        return Ok(1);
    }
    Ok(open.stream.modules().find(name)?.into())
}

/// Makes I_LIST. With a null pointer it returns how many modules and drivers there are.
pub fn list(open: &Open, argument: usize) -> Called<c_int> {
    let names = open.stream.modules().list()?;
    if argument == 0 {
        return Ok(names.len() as c_int);
    }
    let place = argument as *mut str_list;
    // SAFETY: `memory::get` checks that `place` is readable, and any bytes are a valid str_list.
    let wanted = unsafe { memory::get(place)? };
    memory::check_room(place)?;
    let room = usize::try_from(wanted.sl_nmods).ok().filter(|room| *room > 0).ok_or(EINVAL)?;
    let count = names.len().min(room);
    for (at, name) in names.iter().take(count).enumerate() {
        memory::put(wanted.sl_modlist.wrapping_add(at), str_mlist { l_name: field(name) })?;
    }
    memory::put(place, str_list { sl_nmods: count as c_int, ..wanted })?;
    Ok(0)
}

pub fn anchor(open: &Open) -> Called<c_int> {
    open.stream.modules().anchor()?;
    Ok(0)
}
