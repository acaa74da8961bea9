//! Mounts tracefs for this process alone, where it is not mounted. Called by [`super::Tracefs::find`]; changes no mount
//! namespace.
//!
//! The mount is in no directory (fsopen(2), fsmount(2); Linux 5.2): it is reached through its file descriptor, by this
//! process and by the guards that it forks. Programs that it executes do not inherit it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// The mount of this process. It lasts as long as the process, because paths contain the descriptor's number.
static MOUNT: OnceLock<OwnedFd> = OnceLock::new();

/// Returns the directory by which this process reaches its mount. The first call mounts.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN in the initial user namespace, `ENODEV` if the kernel has no tracefs, `ENOSYS` before
/// Linux 5.2.
pub(super) fn own_mount() -> io::Result<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if MOUNT.get().is_none() {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let attributes =
            MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let _ = MOUNT.set(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?);
    }
    let mount = MOUNT.get().expect("it was set above");
    Ok(PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd())))
}

/// Returns the descriptor through which `path` leads, if that is this process's own mount. A process that is forked to
/// use the path must keep it open.
pub(super) fn descriptor(path: &Path) -> Option<BorrowedFd<'static>> {
    let mount = MOUNT.get()?;
    path.starts_with(format!("/proc/self/fd/{}", mount.as_raw_fd())).then(|| mount.as_fd())
}
