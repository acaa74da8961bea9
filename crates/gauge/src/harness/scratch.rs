//! The private directory of a run for objects that need a path, and the removal of directories that killed runs left
//! behind.
//!
//! A live run holds a lock (flock(2)) on its directory. The kernel releases the lock when the run ends, however it ends, and shows
//! it to the processes of all PID namespaces. So a directory is removed if it belongs to this user and no process has it locked; the
//! process id in its name is for readers and decides nothing.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use headwater_os::files::own_user;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fstat, mkdir, openat, statat};

const PREFIX: &str = "headwater-run-";

/// A directory that only this user can enter. Dropping it removes the directory with its contents.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Holds the lock.
    _lock: OwnedFd,
}

impl Scratch {
    /// Makes a directory in the system's directory for temporary files, and removes directories whose run no longer
    /// exists: a run that was killed with SIGKILL could not remove its own.
    ///
    /// # Errors
    /// Errors of the system, with the path.
    pub fn new() -> io::Result<Scratch> {
        Scratch::below(&std::env::temp_dir())
    }

    /// Makes a directory as [`Scratch::new`] does, within `parent`.
    ///
    /// # Errors
    /// As [`Scratch::new`].
    pub fn below(parent: &Path) -> io::Result<Scratch> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", parent.display()));
        let directory = File::open(parent).map_err(named)?;
        sweep(&directory);
        for attempt in 0..100 {
            let name = format!("{PREFIX}{}-{attempt}", std::process::id());
            let path = parent.join(&name);
            match mkdir(&path, Mode::RWXU) {
                // Another process may have removed it before it was locked.
                Ok(()) => match claim(&directory, &name) {
                    Some(lock) => return Ok(Scratch { path, _lock: lock }),
                    None => continue,
                },
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => {
                    return Err(io::Error::new(io::Error::from(error).kind(), format!("{}: {error}", path.display())));
                }
            }
        }
        Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("no free name for a directory in {}", parent.display()),
        ))
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Locks a directory of this user that no process has locked. `None` for everything else: a symbolic link, a directory of another
/// user, and one that was replaced meanwhile.
fn claim(parent: &File, name: &str) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(parent, name, flags, Mode::empty()).ok()?;
    flock(&directory, FlockOperation::NonBlockingLockExclusive).ok()?;
    let status = fstat(&directory).ok()?;
    let there = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_same = (there.st_dev, there.st_ino) == (status.st_dev, status.st_ino);
    (is_same && status.st_uid == own_user()).then_some(directory)
}

/// Removes the directories of this user's runs that no longer exist.
fn sweep(parent: &File) {
    let Ok(entries) = fs::read_dir(of_descriptor(parent)) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !name.starts_with(PREFIX) {
            continue;
        }
        let Some(directory) = claim(parent, &name) else { continue };
        // By the descriptor, so that nothing else is emptied if the name leads elsewhere now.
        for entry in fs::read_dir(of_descriptor(&directory)).into_iter().flatten().flatten() {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let _ = if is_directory { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        }
        let _ = rustix::fs::unlinkat(parent, &name, AtFlags::REMOVEDIR);
    }
}

fn of_descriptor(file: impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn abandoned(parent: &Path, name: &str) -> PathBuf {
        let path = parent.join(name);
        fs::create_dir_all(path.join("inner")).expect("a new directory");
        fs::write(path.join("inner/file"), "x").expect("room on the disk");
        path
    }

    #[test]
    fn a_directory_without_a_lock_is_removed_and_a_locked_one_stays_whatever_its_number() {
        let parent = tempfile::TempDir::new().expect("a temporary directory");
        let live = Scratch::below(parent.path()).expect("a directory");
        // No process has this number here, as that of a run in another PID namespace.
        let renamed = parent.path().join("headwater-run-4000000000-0");
        fs::rename(live.path(), &renamed).expect("rename");
        // Its old name stays taken, because the run removes what has it.
        fs::write(live.path(), "").expect("room on the disk");
        let dead = abandoned(parent.path(), &format!("headwater-run-{}-7", std::process::id()));
        let other = abandoned(parent.path(), "headwater-4000000000-0");
        let next = Scratch::below(parent.path()).expect("a directory");
        assert!(renamed.is_dir() && other.is_dir() && next.path().is_dir() && !dead.exists());
        drop(live);
        drop(Scratch::below(parent.path()).expect("a directory"));
        assert!(!renamed.exists() && next.path().is_dir(), "the lock ended with the run");
    }

    #[test]
    fn neither_links_nor_files_of_other_users_are_removed() {
        let parent = tempfile::TempDir::new().expect("a temporary directory");
        let kept = abandoned(parent.path(), "kept");
        let dead = abandoned(parent.path(), "headwater-run-4000000000-0");
        symlink(&kept, dead.join("link")).expect("symlink");
        symlink(&kept, parent.path().join("headwater-run-4000000001-0")).expect("symlink");
        let of_other = abandoned(parent.path(), "headwater-run-4000000002-0");
        let is_root = own_user() == 0;
        if is_root {
            rustix::fs::chown(&of_other, Some(rustix::fs::Uid::from_raw(65534)), None).expect("chown");
        }
        drop(Scratch::below(parent.path()).expect("a directory"));
        assert!(kept.join("inner/file").exists() && !dead.exists());
        assert!(!is_root || of_other.join("inner/file").exists());
    }
}
