//! The program's memory: checks whether the program may read or write at an address that it passes. The kernel answers
//! a bad address with `EFAULT`; a library that uses one would end the program.
//!
//! A thread remembers the ranges that were found good last, so that a buffer that is used again costs two comparisons.
//! If the program unmaps or protects memory by the C library's functions, all threads forget the ranges
//! ([`changed`](crate::known::changed)). A program that frees memory in another way (the stack of a thread that has
//! ended) and passes its address afterwards is not protected.

use std::ffi::{CStr, c_char, c_void};

use headwater_streams::{Errno, Error, UserMemory};

use crate::errno::{Called, Failure};
use crate::threads;

pub const PAGE: usize = 4096;
/// The largest count of bytes that one call transfers; the rest is left for the next call.
pub const CALL_MAX: usize = 1 << 20;

/// How a call uses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Read,
    Write,
}

/// Asks the kernel whether the program may use these bytes. The kernel touches the pages and leaves their contents.
pub fn is_there(usage: Use, from: usize, len: usize) -> bool {
    let advice = if usage == Use::Read { libc::MADV_POPULATE_READ } else { libc::MADV_POPULATE_WRITE };
    let before = crate::errno::last();
    // SAFETY: the advice changes no contents and no mapping, and any address may be asked for.
    let told = unsafe { libc::madvise(from as *mut c_void, len, advice) };
    let error = crate::errno::last();
    crate::errno::set(before.0);
    // The kernel answers EINVAL for memory that the program may not use so, for memory of which it cannot be asked (a
    // device's, for example), and for everything before Linux 5.14. Then the only test left is to read the bytes.
    told == 0 || error.0 == libc::EINVAL && (usage == Use::Read || !can_be_asked()) && can_be_copied(from, len)
}

/// Returns whether the kernel knows the advice (Linux 5.14): it must then allow a write to our own stack.
fn can_be_asked() -> bool {
    let place = 0u8;
    let page = (&raw const place).addr() & !(PAGE - 1);
    // SAFETY: the advice changes no contents and no mapping.
    unsafe { libc::madvise(page as *mut c_void, PAGE, libc::MADV_POPULATE_WRITE) == 0 }
}

/// Returns whether each page can be read in the way in which another process would read it.
fn can_be_copied(from: usize, len: usize) -> bool {
    (from..from + len).step_by(PAGE).all(|page| {
        let mut byte = 0u8;
        let own = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let other = libc::iovec { iov_base: page as *mut c_void, iov_len: 1 };
        // SAFETY: the kernel checks the address in `other`, and writes one byte to `byte`.
        unsafe { libc::process_vm_readv(libc::getpid(), &own, 1, &other, 1, 0) == 1 }
    })
}

/// Returns whether the program may use these bytes.
#[inline(always)]
pub fn may_use(usage: Use, address: *const c_void, len: usize) -> bool {
    let from = address as usize;
    let known = &threads::current().known;
    len == 0 || known.may_use(usage, from, len) || known.look(usage, from, len)
}

/// Returns the bytes at an address, for reading.
///
/// Errors: `EFAULT`.
///
/// # Safety
/// No other thread writes the bytes while the call runs, or the caller accepts any value that it reads then.
#[inline(always)]
pub unsafe fn bytes<'a>(address: *const c_void, len: usize) -> Called<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if !may_use(Use::Read, address, len) {
        return Err(Failure(libc::EFAULT));
    }
    // SAFETY: `may_use` has found the bytes readable; the caller promises to accept any value in them.
    Ok(unsafe { std::slice::from_raw_parts(address.cast(), len) })
}

/// Returns the bytes at an address, for writing.
///
/// Errors: `EFAULT`.
///
/// # Safety
/// No other thread uses the bytes while the call runs, or the caller accepts any value in them.
#[inline(always)]
pub unsafe fn bytes_mut<'a>(address: *mut c_void, len: usize) -> Called<&'a mut [u8]> {
    if len == 0 {
        return Ok(&mut []);
    }
    if !may_use(Use::Write, address, len) {
        return Err(Failure(libc::EFAULT));
    }
    // SAFETY: `may_use` has found the bytes writable; the caller promises to accept any value in them.
    Ok(unsafe { std::slice::from_raw_parts_mut(address.cast(), len) })
}

/// Copies a structure from the program.
///
/// Errors: `EFAULT`.
///
/// # Safety
/// Any bytes are a valid `T`.
pub unsafe fn get<T: Copy>(address: *const T) -> Called<T> {
    if !may_use(Use::Read, address.cast(), size_of::<T>()) {
        return Err(Failure(libc::EFAULT));
    }
    // SAFETY: `may_use` has found the bytes readable; the caller promises that any bytes are a valid `T`.
    Ok(unsafe { address.read_unaligned() })
}

/// Checks that a structure can be stored there.
///
/// Errors: `EFAULT`.
pub fn check_room<T>(address: *mut T) -> Called<()> {
    if may_use(Use::Write, address.cast_const().cast(), size_of::<T>()) { Ok(()) } else { Err(Failure(libc::EFAULT)) }
}

/// Copies a structure to the program.
///
/// Errors: `EFAULT`.
pub fn put<T: Copy>(address: *mut T, value: T) -> Called<()> {
    check_room(address)?;
    // SAFETY: `check_room` has found the bytes writable.
    unsafe { address.write_unaligned(value) };
    Ok(())
}

/// Returns the string at an address, which ends with a NUL within `len_max` bytes.
///
/// Errors: `EFAULT`; `ENAMETOOLONG` if there is no NUL.
///
/// # Safety
/// No other thread writes the string while the caller uses it.
pub unsafe fn text<'a>(address: *const c_char, len_max: usize) -> Called<&'a CStr> {
    let mut len = 0;
    while len < len_max {
        let at = address.wrapping_add(len);
        let more = (PAGE - at as usize % PAGE).min(len_max - len);
        // SAFETY: the caller promises that no other thread writes the string; `bytes` checks that it is readable.
        let piece = unsafe { bytes(at.cast(), more)? };
        if let Some(end) = piece.iter().position(|byte| *byte == 0) {
            // SAFETY: `bytes` has found these bytes readable, and the only NUL is the last one.
            return Ok(unsafe {
                CStr::from_bytes_with_nul_unchecked(std::slice::from_raw_parts(address.cast(), len + end + 1))
            });
        }
        len += more;
    }
    Err(Failure(libc::ENAMETOOLONG))
}

/// The memory of the program, for a transparent ioctl that the program makes.
#[derive(Debug)]
pub struct Program;

fn fault(address: u64) -> Error {
    Error::new(Errno::Fault, format!("the program has no memory at {address:#x}"))
}

impl UserMemory for Program {
    fn copy_in(&self, address: u64, buffer: &mut [u8]) -> headwater_streams::Result<()> {
        // SAFETY: what another thread writes there meanwhile is input, like any other value.
        let bytes = unsafe { bytes(address as *const c_void, buffer.len()) };
        buffer.copy_from_slice(bytes.map_err(|_| fault(address))?);
        Ok(())
    }

    fn copy_out(&mut self, address: u64, bytes: &[u8]) -> headwater_streams::Result<()> {
        // SAFETY: the bytes are only written, and the program accepts what another of its threads writes there
        // meanwhile.
        let room = unsafe { bytes_mut(address as *mut c_void, bytes.len()) };
        room.map_err(|_| fault(address))?.copy_from_slice(bytes);
        Ok(())
    }
}
