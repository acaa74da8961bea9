//! stdio on streams. glibc's stdio calls glibc's own read, write and close, and not those of this library. So a few
//! functions of glibc are changed to look first whether the descriptor is a stream: when the first stream is opened, a
//! jump is stored over the first instruction of each function. Only known instructions are replaced. Where an
//! instruction is unknown, or the kernel refuses to write to the C library's text, `fdopen` of a stream fails with
//! `ENOTSUP`.
//!
//! In the same way the library learns when glibc returns memory to the kernel (`space`).

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use headwater_os::{environment, fork};
use libc::FILE;

use crate::errno;
use crate::next::next;
use crate::table;

#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod hooks;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod patch;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod space;

const UNKNOWN: u32 = 0;
const WORKS: u32 = 1;
const FAILS: u32 = 2;

/// The answer to whether stdio works on streams, once it is known.
static STATE: AtomicU32 = AtomicU32::new(UNKNOWN);

static INSTALLING: Mutex<()> = Mutex::new(());

/// Makes stdio look for streams; only the first call does something. Returns whether stdio works on streams.
pub fn prepare() -> bool {
    if STATE.load(Ordering::Acquire) != UNKNOWN {
        return STATE.load(Ordering::Acquire) == WORKS;
    }
    // One thread does it, and no thread forks meanwhile: a child would find it half done.
    fork::held_off(|| {
        let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if STATE.load(Ordering::Acquire) != UNKNOWN {
            return;
        }
        let is_off = environment::trusted("HEADWATER_STDIO").is_some_and(|value| value == "0");
        #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
        let works = !is_off && hooks::install();
        #[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
        let works = is_off && false;
        #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
        if !is_off {
            space::install();
        }
        STATE.store(if works { WORKS } else { FAILS }, Ordering::Release);
    });
    STATE.load(Ordering::Acquire) == WORKS
}

impl errno::CResult for *mut FILE {
    const FAILED: *mut FILE = std::ptr::null_mut();
}

mod real {
    //! The same functions in the library behind this one ([`next`](crate::next)).
    use super::{FILE, c_char, c_int, next};

    next! {
        fdopen(fd: c_int, mode: *const c_char) -> *mut FILE;
    }
}

/// fdopen(3). Fails on a stream if stdio does not pass through this library.
///
/// # Safety
/// `mode` is a string (fdopen(3)).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_c_fdopen(fd: c_int, mode: *const c_char) -> *mut FILE {
    if table::is_own(fd) {
        return errno::returned(Err(errno::Failure(libc::EBADF)));
    }
    if table::is_stream(fd) && !prepare() {
        return errno::returned(Err(errno::Failure(libc::ENOTSUP)));
    }
    // SAFETY: the caller promises that `mode` is a string (fdopen(3)).
    unsafe { real::fdopen(fd, mode) }
}

#[cfg(target_arch = "x86_64")]
mod printing {
    //! dprintf and its relatives, which write to a descriptor as stdio does.

    use std::ffi::{c_int, c_void};

    use crate::jump::jumping;
    use crate::next::Next;
    use crate::{errno, table};

    /// Fails with `ENOTSUP`. It is called instead of a function that would write to the kernel's descriptor of a
    /// stream.
    extern "C" fn refuse() -> c_int {
        errno::set(libc::ENOTSUP);
        -1
    }

    macro_rules! choices {
        ($($choice:ident = $name:literal;)*) => {
            $(extern "C" fn $choice(fd: c_int) -> *const c_void {
                static NEXT: Next = Next::new($name);
                let next = NEXT.address();
                let is_refused = next.is_null() || table::is_stream(fd) && !super::prepare();
                if is_refused { refuse as *const c_void } else { next }
            })*
        };
    }

    choices! {
        dprintf = c"dprintf";
        vdprintf = c"vdprintf";
        dprintf_chk = c"__dprintf_chk";
        vdprintf_chk = c"__vdprintf_chk";
    }

    jumping! {
        "hw_c_dprintf" => dprintf;
        "hw_c_vdprintf" => vdprintf;
        "hw_c___dprintf_chk" => dprintf_chk;
        "hw_c___vdprintf_chk" => vdprintf_chk;
    }
}
