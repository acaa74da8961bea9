//! XTI (XNS 5.2): the entry points t_*. t_open or t_sync gives an open stream an endpoint of `headwater_xti`.
//!
//! A call that fails returns -1 (or NULL) and sets t_errno, and errno for TSYSERR. A call that a signal handler has
//! interrupted fails with TSYSERR and `EINTR`, even if the handler asks for a restart: XNS says so.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;

use headwater_streams::tpi::TransportError;
use headwater_xti::{Endpoint, XtiError};

use crate::errno::{CResult, Failure, guarded, set};
use crate::table;

mod alloc;
mod buffers;
mod connections;
mod data;
mod datagrams;
mod endpoints;
mod texts;

/// Why a call fails: the values of t_errno and errno.
#[derive(Debug, Clone, Copy)]
pub struct Failed {
    t_errno: c_int,
    /// 0 unless t_errno is TSYSERR.
    errno: c_int,
}

impl From<XtiError> for Failed {
    fn from(error: XtiError) -> Failed {
        let errno = error.errno.map_or(0, |errno| errno.number());
        Failed { t_errno: error.t_errno.number().cast_signed(), errno }
    }
}

impl From<TransportError> for Failed {
    fn from(error: TransportError) -> Failed {
        XtiError::from(error).into()
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Failed {
        Failed { t_errno: TransportError::System.number().cast_signed(), errno: failure.0 }
    }
}

impl From<headwater_streams::Error> for Failed {
    fn from(error: headwater_streams::Error) -> Failed {
        Failure::from(error).into()
    }
}

pub type Done<T> = Result<T, Failed>;

thread_local!(static T_ERRNO: Cell<c_int> = const { Cell::new(0) });

/// Returns the address of the calling thread's t_errno.
#[unsafe(no_mangle)]
pub extern "C" fn _t_errno() -> *mut c_int {
    T_ERRNO.with(Cell::as_ptr)
}

/// Sets t_errno and errno.
fn note(failed: Failed) {
    T_ERRNO.set(failed.t_errno);
    if failed.errno != 0 {
        set(failed.errno);
    }
}

/// Converts a result to what C gets.
fn returned<T: CResult>(done: Done<T>) -> T {
    done.unwrap_or_else(|failed| {
        note(failed);
        T::FAILED
    })
}

/// Calls `action`, and fails with TSYSERR and `EIO` if it panics.
fn caught<T>(action: impl FnOnce() -> Done<T>) -> Done<T> {
    guarded(|| Ok(action())).map_err(Failed::from)?
}

/// Makes a call on the endpoint `fd`. Fails with TBADF if `fd` has no endpoint.
fn with<T>(fd: c_int, call: impl FnOnce(&Endpoint) -> Done<T>) -> Done<T> {
    let (mut call, mut done) = (Some(call), None);
    with_any(fd, &mut |endpoint| done = call.take().map(|call| call(endpoint)))?;
    done.unwrap_or(Err(TransportError::BadFile.into()))
}

/// Does what [`with`] does. All calls share this one function, which makes the library smaller.
#[inline(never)]
fn with_any(fd: c_int, call: &mut dyn FnMut(&Endpoint)) -> Done<()> {
    match table::with(fd, |open| Ok(open.transport.get().map(|endpoint| call(endpoint)))) {
        Some(Ok(_)) | None => Ok(()),
        Some(Err(failure)) => Err(failure.into()),
    }
}

/// Returns the endpoint of `fd`, for a call that uses two endpoints.
fn endpoint(fd: c_int) -> Done<Arc<Endpoint>> {
    match table::with(fd, |open| Ok(open.transport.get().cloned())) {
        Some(Ok(Some(endpoint))) => Ok(endpoint),
        Some(Err(failure)) => Err(failure.into()),
        None | Some(Ok(None)) => Err(TransportError::BadFile.into()),
    }
}
