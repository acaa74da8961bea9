//! fattach and fdetach: they give a stream a name in the file system and take it away.

use std::ffi::{OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use headwater_streams::attach;

use crate::errno::{Called, Failure, guarded, returned};
use crate::memory;
use crate::own;
use crate::table;

/// fattach(3).
///
/// # Safety
/// Safe for any `path`, which is checked, if no other thread writes it during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fattach(fd: c_int, path: *const c_char) -> c_int {
    returned(with_path(path, |path| match table::with(fd, |open| Ok(open.stream.attach_to(path)?)) {
        Some(done) => done,
        // SUSv2 asks for EINVAL if the descriptor is a file that is no stream.
        None => Err(Failure(if own::is_open(fd) { libc::EINVAL } else { libc::EBADF })),
    }))
}

/// fdetach(3).
///
/// # Safety
/// Safe for any `path`, which is checked, if no other thread writes it during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdetach(path: *const c_char) -> c_int {
    returned(with_path(path, |path| guarded(|| Ok(attach::detach(path)?))))
}

fn with_path(path: *const c_char, action: impl FnOnce(&Path) -> Called<()>) -> Called<c_int> {
    // SAFETY: `memory::text` checks `path`; the callers' contract is that no other thread writes it.
    let path = unsafe { memory::text(path, libc::PATH_MAX as usize)? };
    action(Path::new(OsStr::from_bytes(path.to_bytes()))).map(|()| 0)
}
