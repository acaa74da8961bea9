//! t_strerror and t_error.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use headwater_streams::tpi::TransportError;
use headwater_xti::XtiError;

use super::T_ERRNO;
use crate::errno::last;
use crate::memory;

/// How many numbers have texts of their own: 0 to the last error, and all others.
const TEXTS: usize = 31;

/// t_strerror(3).
#[unsafe(no_mangle)]
pub extern "C" fn t_strerror(number: c_int) -> *const c_char {
    static ALL: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let text = |number| [XtiError::text(number).as_bytes(), b"\0"].concat();
        (0..TEXTS as u32).map(text).collect()
    });
    let at = usize::try_from(number).ok().filter(|at| *at < TEXTS).unwrap_or(TEXTS - 1);
    all[at].as_ptr().cast()
}

/// t_error(3). Writes to standard error: the text, the error, and the system error for TSYSERR.
///
/// # Safety
/// The text may be null or wrong; no other thread writes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn t_error(text: *const c_char) -> c_int {
    let (number, errno) = (T_ERRNO.get(), last());
    let mut line = Vec::new();
    // SAFETY: the program's text, read once.
    let given = if text.is_null() { None } else { unsafe { memory::text(text, libc::PATH_MAX as usize).ok() } };
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        line.extend_from_slice(given.to_bytes());
        line.extend_from_slice(b": ");
    }
    // SAFETY: a text of ours.
    line.extend_from_slice(unsafe { CStr::from_ptr(t_strerror(number)) }.to_bytes());
    if number == TransportError::System.number().cast_signed() {
        line.extend_from_slice(b": ");
        // SAFETY: the text is read before the thread's next call.
        line.extend_from_slice(unsafe { CStr::from_ptr(libc::strerror(errno.0)) }.to_bytes());
    }
    line.push(b'\n');
    // SAFETY: through the entry point: standard error may be a stream.
    unsafe { crate::calls::transfer::hw_c_write(2, line.as_ptr().cast::<c_void>(), line.len()) };
    0
}
