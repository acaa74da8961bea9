//! How a call fails in C: it sets errno and returns -1. No panic leaves the library.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use headwater_streams::{Errno, Error};

/// Why a call fails: the value that errno gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure(pub c_int);

impl From<Error> for Failure {
    #[inline]
    fn from(error: Error) -> Failure {
        Failure(error.errno().number())
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Failure {
        Failure(errno.number())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure(error.raw_os_error().unwrap_or_else(|| Error::from(error).errno().number()))
    }
}

/// The result of a call, before it is converted for C.
pub type Called<T> = Result<T, Failure>;

/// Returns errno, which the last failed call of the C library has set.
pub fn last() -> Failure {
    // SAFETY: the address of the calling thread's errno is always valid.
    Failure(unsafe { *libc::__errno_location() })
}

/// Sets errno.
pub fn set(number: c_int) {
    // SAFETY: the address of the calling thread's errno is always valid.
    unsafe { *libc::__errno_location() = number };
}

/// Calls `action`, and fails with `EIO` if it panics.
#[inline]
pub fn guarded<T>(action: impl FnOnce() -> Called<T>) -> Called<T> {
    // What a panic leaves behind is checked by the next call, as after the death of a process.
    catch_unwind(AssertUnwindSafe(action)).unwrap_or(Err(Failure(libc::EIO)))
}

/// A result as the kernel returns it: a count, or an error as a negative number. A word passes the guard below in a
/// register. A `Called` passes it in memory, which costs a short call a third of its time.
pub type Word = isize;

/// Converts a result to a word.
#[inline(always)]
pub fn word(called: Called<isize>) -> Word {
    match called {
        Ok(count) => count,
        Err(Failure(number)) => -(number as isize),
    }
}

/// Calls `action`, and fails with `EIO` if it panics.
#[inline(always)]
pub fn guarded_word(action: impl FnOnce() -> Word) -> Word {
    // What a panic leaves behind is checked by the next call, as after the death of a process.
    catch_unwind(AssertUnwindSafe(action)).unwrap_or(-(libc::EIO as isize))
}

/// Converts a word to what C gets: the count, or -1 with errno.
#[inline(always)]
pub fn returned_word(word: Word) -> isize {
    if word < 0 { failed(word) } else { word }
}

#[cold]
#[inline(never)]
fn failed(word: Word) -> isize {
    set((-word) as c_int);
    -1
}

/// A type of results in C that has a value for a failed call.
pub trait CResult {
    /// The value that a failed call returns.
    const FAILED: Self;
}

impl CResult for c_int {
    const FAILED: c_int = -1;
}

impl CResult for std::ffi::c_long {
    const FAILED: std::ffi::c_long = -1;
}

impl CResult for isize {
    const FAILED: isize = -1;
}

/// Converts a result to what C gets: the value, or [`CResult::FAILED`] with errno.
#[inline]
pub fn returned<T: CResult>(called: Called<T>) -> T {
    match called {
        Ok(value) => value,
        Err(Failure(number)) => {
            set(number);
            T::FAILED
        }
    }
}
