//! Services of the DDI/DKI that are not about streams: memory, parameters, and messages to loggers.

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};

use headwater_streams::drivers::log::LogFlags;

use super::instance::own_credentials;
use super::types::Credentials;

/// The clock ticks of a second.
const HZ: c_long = 100;

/// Allocates memory (kmem_alloc, kmem_zalloc).
pub fn allocate(size: usize, is_zeroed: bool) -> *mut c_void {
    // SAFETY: malloc and calloc take no pointer, and the size is not 0.
    unsafe { if is_zeroed { libc::calloc(1, size.max(1)) } else { libc::malloc(size.max(1)) } }
}

/// Frees memory (kmem_free).
///
/// # Safety
/// `memory` is null or from [`allocate`], and is used no more.
pub unsafe fn free(memory: *mut c_void) {
    // SAFETY: the caller promises that `memory` is null or from `allocate`, which calls malloc or calloc.
    unsafe { libc::free(memory) }
}

/// Sends a message to the loggers (hw_cmn_err); ends the process if the level is CE_PANIC.
///
/// # Safety
/// `text` is null or a string.
pub unsafe fn report(level: c_int, text: *const c_char) {
    const PANIC: c_int = 3;
    const WARN: c_int = 2;
    let kind = match level {
        PANIC => LogFlags::ERROR | LogFlags::FATAL,
        WARN => LogFlags::ERROR | LogFlags::WARN,
        _ => LogFlags::ERROR | LogFlags::NOTE,
    };
    if !text.is_null() {
        // SAFETY: the caller promises that `text` is null or a string, and it is not null.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        headwater_streams::strlog(0, 0, 0, kind, text);
    }
    if level == PANIC {
        std::process::abort();
    }
}

/// Stores a parameter (drv_getparm). Returns false if there is no such parameter.
///
/// # Safety
/// `value` is null or has room for the parameter.
pub unsafe fn parameter(number: u32, value: *mut c_void) -> bool {
    if value.is_null() {
        return false;
    }
    // SAFETY: the calls take numbers or the address of `now`; the caller promises room for the parameter at `value`.
    unsafe {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let found: c_ulong = match number {
            1 => {
                libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut now);
                (now.tv_sec * HZ + now.tv_nsec * HZ / 1_000_000_000) as c_ulong
            }
            2 => libc::getpgrp() as c_ulong,
            4 => libc::getpid() as c_ulong,
            5 => libc::getsid(0) as c_ulong,
            6 => {
                libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now);
                now.tv_sec as c_ulong
            }
            7 => {
                value.cast::<*mut Credentials>().write(own_credentials());
                return true;
            }
            _ => return false,
        };
        value.cast::<c_ulong>().write(found);
        true
    }
}

/// Converts microseconds to ticks, rounded up (drv_usectohz).
pub fn ticks_of(microseconds: c_long) -> c_long {
    microseconds.max(0).saturating_mul(HZ).saturating_add(999_999) / 1_000_000
}

/// Converts ticks to microseconds (drv_hztousec).
pub fn microseconds_of(ticks: c_long) -> c_long {
    ticks.max(0).saturating_mul(1_000_000 / HZ)
}
