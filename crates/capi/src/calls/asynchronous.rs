//! O_ASYNC: the process that F_SETOWN names gets SIGIO when something can be read or written. The kernel keeps the
//! owner with the open file. The signals are those of I_SETSIG, because the kernel does not see the data.

use std::ffi::c_int;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering;

use headwater_streams::SignalEvents;

use crate::errno::{Called, Failure, last};
use crate::memory;
use crate::own::hw_own_fcntl;
use crate::table::Open;

/// The events for which SIGIO is sent: those of the kernel's pipe, and messages of high priority.
const EVENTS: SignalEvents = SignalEvents::INPUT
    .union(SignalEvents::HIPRI)
    .union(SignalEvents::OUTPUT)
    .union(SignalEvents::ERROR)
    .union(SignalEvents::HANGUP);

/// struct f_owner_ex of fcntl(2).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Owner {
    kind: c_int,
    pid: c_int,
}

pub const F_SETSIG: c_int = 10;
pub const F_SETOWN_EX: c_int = 15;
const F_GETOWN_EX: c_int = 16;
const F_OWNER_TID: c_int = 0;
const F_OWNER_PGRP: c_int = 2;

/// Makes F_SETOWN, F_SETOWN_EX and F_SETSIG on a stream.
///
/// Errors: `EINVAL` if the owner is a thread or the program chooses the signal, because I_SETSIG has neither; the
/// errors of the kernel's fcntl and of I_ESETSIG.
pub fn control(open: &Open, fd: c_int, command: c_int, argument: usize) -> Called<c_int> {
    if command == F_SETSIG {
        return if argument as c_int == 0 { Ok(0) } else { Err(Failure(libc::EINVAL)) };
    }
    // SAFETY: `memory::get` checks that the structure is readable, and any bytes are a valid `Owner`.
    if command == F_SETOWN_EX && unsafe { memory::get(argument as *const Owner)? }.kind == F_OWNER_TID {
        return Err(Failure(libc::EINVAL));
    }
    // SAFETY: `argument` is a number or the address of a struct f_owner_ex, which the kernel checks.
    if unsafe { hw_own_fcntl(fd, command, argument) } < 0 {
        return Err(last());
    }
    register(open, fd).map(|()| 0)
}

/// Sets or clears O_ASYNC.
///
/// Errors: those of I_ESETSIG; the flag is then clear.
pub fn set(open: &Open, fd: c_int, is_on: bool) -> Called<()> {
    if is_on {
        open.flags.fetch_or(libc::O_ASYNC, Ordering::Relaxed);
    } else {
        open.flags.fetch_and(!libc::O_ASYNC, Ordering::Relaxed);
    }
    register(open, fd).inspect_err(|_| {
        open.flags.fetch_and(!libc::O_ASYNC, Ordering::Relaxed);
    })
}

/// Registers the owner for signals if O_ASYNC is set, and removes an earlier registration.
fn register(open: &Open, fd: RawFd) -> Called<()> {
    let is_on = open.flags.load(Ordering::Relaxed) & libc::O_ASYNC != 0;
    let wanted = if is_on { owner(fd)? } else { 0 };
    let before = open.signal_owner.load(Ordering::Relaxed);
    if wanted == before {
        return Ok(());
    }
    if before != 0 {
        // A process that has ended is not registered any more.
        let _ = open.stream.signals().set_for(before, SignalEvents::empty());
        open.signal_owner.store(0, Ordering::Relaxed);
    }
    if wanted != 0 {
        open.stream.signals().set_for(wanted, EVENTS)?;
        open.signal_owner.store(wanted, Ordering::Relaxed);
    }
    Ok(())
}

/// Returns the owner as F_GETOWN does: a group is negative, and 0 means none. F_GETOWN itself cannot tell a small group
/// from an error.
fn owner(fd: RawFd) -> Called<c_int> {
    let mut owner = Owner { kind: 0, pid: 0 };
    // SAFETY: F_GETOWN_EX stores one `Owner`, and `owner` is one.
    if unsafe { hw_own_fcntl(fd, F_GETOWN_EX, (&raw mut owner) as usize) } < 0 {
        return Err(last());
    }
    Ok(if owner.kind == F_OWNER_PGRP { -owner.pid } else { owner.pid })
}
