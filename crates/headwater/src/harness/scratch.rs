//! The private directory of a run, for what needs a path, and the broom for those of dead runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_os::child::exists;
use rustix::fs::{Mode, mkdir};

const PREFIX: &str = "headwater-";

/// A directory that only this user can enter; removed with all it holds when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes one in the directory for temporary files, and removes those whose process is gone: a run that was killed
    /// with SIGKILL could not do it itself.
    ///
    /// # Errors
    /// What the system reports, with the path.
    pub fn new() -> io::Result<Scratch> {
        Scratch::below(&std::env::temp_dir())
    }

    /// As [`Scratch::new`], in another directory.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the directories of processes that do not exist any more. Another user's cannot be removed and stay.
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
