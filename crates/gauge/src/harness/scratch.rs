//! The private directory of a run for objects that need a path, and the removal of directories that killed runs left
//! behind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_os::child::exists;
use rustix::fs::{Mode, mkdir};

const PREFIX: &str = "headwater-";

/// A directory that only this user can enter. Dropping it removes the directory with its contents.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a directory in the system's directory for temporary files, and removes directories whose process no longer
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
        sweep(parent);
        for attempt in 0..100 {
            let path = parent.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            match mkdir(&path, Mode::RWXU) {
                Ok(()) => return Ok(Scratch { path }),
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

/// Removes the directories of processes that no longer exist. Directories of other users cannot be removed and stay.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split_once('-'))
            .filter(|(_, attempt)| attempt.parse::<u32>().is_ok())
            .and_then(|(pid, _)| pid.parse::<u32>().ok());
        if owner.is_some_and(|pid| !exists(pid)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
