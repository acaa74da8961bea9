//! t_strerror, t_error, and TLI's array of texts.

use std::ffi::{CStr, c_char, c_int, c_void};

use headwater_streams::tpi::TransportError;
use headwater_xti::XtiError;

use super::T_ERRNO;
use crate::errno::last;
use crate::memory;

/// The number of texts: one for each error from 0 to the last, and one for all other numbers.
const TEXTS: usize = TransportError::Protocol.number() as usize + 2;
/// The size in bytes that holds each text and its NUL. If a text is longer, the crate does not compile.
const TEXT_LEN: usize = 64;

/// The texts with their NULs, as C reads them.
static STORED: [[u8; TEXT_LEN]; TEXTS] = {
    let mut stored = [[0; TEXT_LEN]; TEXTS];
    let mut number = 0;
    while number < TEXTS {
        let text = XtiError::text(number as u32).as_bytes();
        assert!(text.len() < TEXT_LEN);
        stored[number].split_at_mut(text.len()).0.copy_from_slice(text);
        number += 1;
    }
    stored
};

/// The address of a text.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Text(*const c_char);

// SAFETY: the address is that of a constant in STORED.
unsafe impl Sync for Text {}

/// The texts, as an array of SVR4's TLI. Its programs print `t_errlist[t_errno]`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "C's name")]
pub static t_errlist: [Text; TEXTS] = {
    let mut texts = [Text(std::ptr::null()); TEXTS];
    let mut number = 0;
    while number < TEXTS {
        texts[number] = Text(STORED[number].as_ptr().cast());
        number += 1;
    }
    texts
};

/// The number of entries of [`t_errlist`] that belong to errors.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "C's name")]
pub static t_nerr: c_int = TEXTS as c_int - 1;

/// t_strerror(3).
#[unsafe(no_mangle)]
pub extern "C" fn t_strerror(number: c_int) -> *const c_char {
    let at = usize::try_from(number).ok().filter(|at| *at < TEXTS).unwrap_or(TEXTS - 1);
    t_errlist[at].0
}

/// t_error(3). Writes to standard error: `text`, the error's text, and for TSYSERR the text of errno.
///
/// # Safety
/// Safe for any `text`, which is checked, if no other thread writes it during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_error(text: *const c_char) -> c_int {
    let (number, errno) = (T_ERRNO.get(), last());
    let mut line = Vec::new();
    // SAFETY: `memory::text` checks `text`; the caller promises that no other thread writes it during the call.
    let given = if text.is_null() { None } else { unsafe { memory::text(text, libc::PATH_MAX as usize).ok() } };
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        line.extend_from_slice(given.to_bytes());
        line.extend_from_slice(b": ");
    }
    // SAFETY: t_strerror returns a constant string.
    line.extend_from_slice(unsafe { CStr::from_ptr(t_strerror(number)) }.to_bytes());
    if number == TransportError::System.number().cast_signed() {
        line.extend_from_slice(b": ");
        // SAFETY: strerror returns a string that is valid until the thread's next call of it.
        line.extend_from_slice(unsafe { CStr::from_ptr(libc::strerror(errno.0)) }.to_bytes());
    }
    line.push(b'\n');
    // SAFETY: `line` has `line.len()` readable bytes. The entry point is called because standard error may be a stream.
    unsafe { crate::calls::transfer::hw_c_write(2, line.as_ptr().cast::<c_void>(), line.len()) };
    0
}
