//! Where tracefs is, and its files: small texts that are read and written whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount};

use super::Error;

/// Where tracefs is mounted by custom.
const HOME: &str = "/sys/kernel/tracing";

/// Asked for by one read(2): more than the longest text of a file that gives only one.
const READ_BYTES: usize = 16 << 10;

/// A mounted tracefs.
#[derive(Debug, Clone)]
pub struct Tracefs {
    root: PathBuf,
}

impl Tracefs {
    /// The tracefs of this machine. With `may_mount`, mounts it at /sys/kernel/tracing where it is nowhere; it stays
    /// mounted.
    ///
    /// # Errors
    /// [`Error::NotMounted`], [`Error::Hidden`], [`Error::Permission`] if it is mounted and closed to this user.
    pub fn find(may_mount: bool) -> Result<Tracefs, Error> {
        let mounts = Path::new("/proc/self/mounts");
        let mounts = fs::read_to_string(mounts).map_err(|source| Error::file("read", mounts, source))?;
        let found = match mounted(&mounts) {
            Some(root) => Tracefs { root },
            None if may_mount => {
                mount("nodev", HOME, "tracefs", MountFlags::empty(), None)
                    .map_err(|error| Error::file("mount tracefs at", Path::new(HOME), error.into()))?;
                Tracefs { root: HOME.into() }
            }
            None => return Err(Error::NotMounted),
        };
        // Closed directories hide the reason of whatever is tried in them.
        let trace = found.path("tracing_on");
        match fs::metadata(&trace) {
            Ok(_) => Ok(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Hidden { root: found.root }),
            Err(error) => Err(Error::file("look at", &trace, error)),
        }
    }

    /// The directory that it is mounted at.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Of a file or directory in it.
    pub fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }
}

/// The mount point of tracefs, the customary one first: it can be mounted more than once, and under debugfs it is hidden
/// where that is closed.
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

/// The text of a file, without the newline at its end.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    let whole = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let mut text = Vec::new();
        // Some of these files, header_page for one, end after the first read(2), however little was asked for.
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

/// Writes `value` by one call, which for such files is one order; the file must be there.
pub(super) fn write(path: &Path, value: &str) -> Result<(), Error> {
    put(OpenOptions::new().write(true).truncate(true), path, value)
}

/// As [`write`], without taking away what stands there: for files that hold lists.
pub(super) fn append(path: &Path, value: &str) -> Result<(), Error> {
    put(OpenOptions::new().append(true), path, value)
}

fn put(options: &OpenOptions, path: &Path, value: &str) -> Result<(), Error> {
    let order = || -> io::Result<()> { options.open(path)?.write_all(value.as_bytes()) };
    order().map_err(|source| Error::file("write", path, source))
}

/// The names of the directories in `path`, sorted.
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
