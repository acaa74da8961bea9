//! fallocate, posix_fallocate and posix_fadvise: calls for files that have a length. On a stream they fail with
//! `ESPIPE`, as on a FIFO.

use std::ffi::c_int;

use libc::off_t;

use crate::errno::{Called, Failure, returned};
use crate::next::next;
use crate::table::{self, Open};

pub mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{c_int, next, off_t};

    next! {
        fallocate(fd: c_int, mode: c_int, offset: off_t, len: off_t) -> c_int;
        fallocate64(fd: c_int, mode: c_int, offset: off_t, len: off_t) -> c_int;
        posix_fallocate(fd: c_int, offset: off_t, len: off_t) -> c_int;
        posix_fallocate64(fd: c_int, offset: off_t, len: off_t) -> c_int;
        posix_fadvise(fd: c_int, offset: off_t, len: off_t, advice: c_int) -> c_int;
        posix_fadvise64(fd: c_int, offset: off_t, len: off_t, advice: c_int) -> c_int;
    }
}

/// Returns why fallocate fails on a stream, in the kernel's order of checks.
fn allocate(open: &Open, offset: off_t, len: off_t) -> Called<c_int> {
    if offset < 0 || len <= 0 {
        return Err(Failure(libc::EINVAL));
    }
    open.to_write()?;
    Err(Failure(libc::ESPIPE))
}

/// Defines calls that return -1 with errno (`returned`), or the error itself (`error_of`).
macro_rules! extents {
    ($($by:ident: $name:ident = $real:ident($($argument:ident: $type:ty),*) => |$open:ident| $refused:expr;)*) => {
        $(
            /// Calls the function of the next library, or fails on a stream.
            ///
            /// # Safety
            /// Safe for any `fd`: no pointer is passed.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(fd: c_int $(, $argument: $type)*) -> c_int {
                match table::with(fd, |$open| $refused) {
                    Some(done) => $by(done),
                    None if table::is_own(fd) => $by(Err(Failure(libc::EBADF))),
                    // SAFETY: no pointer is passed.
                    None => unsafe { real::$real(fd $(, $argument)*) },
                }
            }
        )*
    };
}

/// Converts a result for a function of POSIX that returns the error and does not set errno.
fn error_of(done: Called<c_int>) -> c_int {
    done.unwrap_or_else(|failure| failure.0)
}

extents! {
    returned: hw_c_fallocate = fallocate(mode: c_int, offset: off_t, len: off_t) => |open| allocate(open, offset, len);
    returned: hw_c_fallocate64 = fallocate64(mode: c_int, offset: off_t, len: off_t) => |open| allocate(open, offset, len);
    error_of: hw_c_posix_fallocate = posix_fallocate(offset: off_t, len: off_t) => |open| allocate(open, offset, len);
    error_of: hw_c_posix_fallocate64 = posix_fallocate64(offset: off_t, len: off_t) => |open| allocate(open, offset, len);
    error_of: hw_c_posix_fadvise = posix_fadvise(offset: off_t, len: off_t, advice: c_int) => |_open| Err(Failure(libc::ESPIPE));
    error_of: hw_c_posix_fadvise64 = posix_fadvise64(offset: off_t, len: off_t, advice: c_int) => |_open| Err(Failure(libc::ESPIPE));
}
