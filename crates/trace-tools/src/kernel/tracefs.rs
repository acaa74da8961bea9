//! Finds tracefs, and reads and writes its files, which are small texts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::{Error, mount};

/// The usual mount point of tracefs.
const HOME: &str = "/sys/kernel/tracing";

/// Bytes of one read(2): more than the longest file that returns all of its text by one read.
const READ_BYTES: usize = 16 << 10;

/// A mounted tracefs.
#[derive(Debug, Clone)]
pub struct Tracefs {
    root: PathBuf,
}

impl Tracefs {
    /// Returns the tracefs of this machine. If it is mounted nowhere, or inaccessible behind another mount, and this
    /// process may mount, it is mounted for this process alone: no mount namespace changes, and no other process sees it.
    ///
    /// # Errors
    /// [`Error::NotMounted`], [`Error::Hidden`], [`Error::Permission`] if this user has no access.
    pub fn find() -> Result<Tracefs, Error> {
        let mounts = Path::new("/proc/thread-self/mounts");
        let mounts = fs::read_to_string(mounts).map_err(|source| Error::file("read", mounts, source))?;
        let Some(root) = mounted(&mounts) else {
            let root = mount::own_mount().map_err(|why| Error::NotMounted { why })?;
            return Ok(Tracefs { root });
        };
        // Check access now: later errors in an inaccessible directory would not show the reason.
        let trace = root.join("tracing_on");
        match fs::metadata(&trace) {
            Ok(_) => Ok(Tracefs { root }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let own = mount::own_mount().map_err(|_| Error::Hidden { root })?;
                Ok(Tracefs { root: own })
            }
            Err(error) => Err(Error::file("look at", &trace, error)),
        }
    }

    /// Returns its mount point.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a file or directory in it, for this process and those that it forks.
    pub fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Returns the path that a file of it has where tracefs is mounted at its usual place, for messages.
    pub fn usual_path(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.root) {
            Ok(file) if mount::descriptor(path).is_some() => Path::new(HOME).join(file),
            _ => path.to_owned(),
        }
    }
}

/// Returns the mount point of tracefs, the usual one first. It may be mounted several times, and a mount below debugfs
/// is inaccessible if debugfs is.
fn mounted(mounts: &str) -> Option<PathBuf> {
    let points: Vec<&str> = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            let point = words.next()?;
            (words.next()? == "tracefs").then_some(point)
        })
        .collect();
    points.iter().find(|point| **point == HOME).or_else(|| points.first()).map(PathBuf::from)
}

/// Reads a file, without the newline at its end.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    let whole = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let mut text = Vec::new();
        // Some of these files, such as header_page, end after the first read(2), however short.
        let mut part = vec![0; READ_BYTES];
        loop {
            match file.read(&mut part) {
                Ok(0) => return Ok(String::from_utf8_lossy(&text).trim_end().to_owned()),
                Ok(len) => text.extend_from_slice(&part[..len]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    whole().map_err(|source| Error::file("read", path, source))
}

/// Writes `value` by one call, because the kernel interprets each write to such a file as one command. The file must
/// exist.
pub(super) fn write(path: &Path, value: &str) -> Result<(), Error> {
    write_once(OpenOptions::new().write(true).truncate(true), path, value)
}

/// Writes like [`write`] without truncating, for files that contain lists.
pub(super) fn append(path: &Path, value: &str) -> Result<(), Error> {
    write_once(OpenOptions::new().append(true), path, value)
}

fn write_once(options: &OpenOptions, path: &Path, value: &str) -> Result<(), Error> {
    let order = || -> io::Result<()> { options.open(path)?.write_all(value.as_bytes()) };
    order().map_err(|source| Error::file("write", path, source))
}

/// Returns the names of the directories in `path`, sorted.
pub(super) fn directories(path: &Path) -> Result<Vec<String>, Error> {
    let list = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.extend(entry.file_name().into_string().ok());
            }
        }
        names.sort();
        Ok(names)
    };
    list().map_err(|source| Error::file("list", path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_customary_mount_point_comes_first() {
        let debugfs = "debugfs /sys/kernel/debug debugfs rw 0 0\n";
        let automatic = "tracefs /sys/kernel/debug/tracing tracefs rw 0 0\n";
        let home = "nodev /sys/kernel/tracing tracefs rw,relatime 0 0\n";
        let point = |mounts: &str| mounted(mounts).map(|path| path.to_string_lossy().into_owned());
        assert_eq!(point(debugfs), None);
        assert_eq!(point(&format!("{debugfs}{automatic}")).as_deref(), Some("/sys/kernel/debug/tracing"));
        assert_eq!(point(&format!("{automatic}{home}")).as_deref(), Some(HOME));
    }
}
