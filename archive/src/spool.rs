//! The spool: runs that are to be added, as small files that name them. The run directory stays the truth. A marker is
//! written before a run is added and removed after it, so whatever happens in between, the next call finds it; adding
//! twice is adding once.

use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use headwater_os::plain_file;
use serde::{Deserialize, Serialize};

use crate::place::usual;
use crate::record::digest;

/// The most bytes of a marker, which has two paths.
const BYTES_MAX: u64 = 64 << 10;

/// A run that is to be added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Marker {
    /// The archive, without a password.
    pub archive: String,
    /// The run's directory or file, an absolute path.
    pub run: PathBuf,
}

/// The spool of this user.
#[derive(Clone, Debug)]
pub struct Spool(PathBuf);

impl Spool {
    /// Returns the spool in its usual place, `$XDG_STATE_HOME/headwater/archive-spool`.
    ///
    /// # Errors
    /// If there is no such place.
    pub fn usual() -> anyhow::Result<Spool> {
        Ok(Spool(usual("XDG_STATE_HOME", ".local/state")?.join("archive-spool")))
    }

    /// Writes a marker. It is on disk when this returns.
    ///
    /// # Errors
    /// The path and the error of the system.
    pub fn put(&self, marker: &Marker) -> anyhow::Result<()> {
        let path = self.path(marker)?;
        let named = || path.display().to_string();
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0).with_context(named)?;
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let mut file = File::create(&new).with_context(named)?;
        file.write_all(&serde_json::to_vec(marker)?).with_context(named)?;
        file.sync_all().with_context(named)?;
        fs::rename(&new, &path).with_context(named)?;
        File::open(&self.0).and_then(|directory| directory.sync_all()).with_context(named)
    }

    /// Removes a marker; another process may have done it already.
    ///
    /// # Errors
    /// The path and the error of the system.
    pub fn remove(&self, marker: &Marker) -> anyhow::Result<()> {
        let path = self.path(marker)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| path.display().to_string())
            }
            _ => Ok(()),
        }
    }

    /// Returns the markers, and the files that are none.
    ///
    /// # Errors
    /// The path and the error of the system.
    pub fn markers(&self) -> anyhow::Result<(Vec<Marker>, Vec<PathBuf>)> {
        let (mut markers, mut others) = (Vec::new(), Vec::new());
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((markers, others)),
            Err(error) => return Err(error).with_context(|| self.0.display().to_string()),
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
            match plain_file::read(&path, BYTES_MAX).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
                Some(marker) => markers.push(marker),
                // Another process may have added it meanwhile.
                None if !path.exists() => {}
                None => others.push(path),
            }
        }
        Ok((markers, others))
    }

    /// Returns the age of a marker.
    ///
    /// # Errors
    /// The path and the error of the system.
    pub fn age(&self, marker: &Marker) -> anyhow::Result<Duration> {
        let path = self.path(marker)?;
        let modified = fs::metadata(&path).and_then(|metadata| metadata.modified());
        let modified = modified.with_context(|| path.display().to_string())?;
        Ok(SystemTime::now().duration_since(modified).unwrap_or_default())
    }

    /// Becomes the only process that adds other processes' runs, or returns `None` if another one is.
    pub fn claim(&self) -> Option<File> {
        let file = File::create(self.0.join("lock")).ok()?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(file)
    }

    fn path(&self, marker: &Marker) -> anyhow::Result<PathBuf> {
        Ok(self.0.join(format!("{}.json", &digest(&serde_json::to_vec(marker)?)[..32])))
    }
}

/// Returns a path that names the same in every directory.
///
/// # Errors
/// If the current directory is gone.
pub fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    Ok(std::path::absolute(path)?)
}
