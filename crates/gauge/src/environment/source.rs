//! The source of the facts: the files of this machine, or a copy of them below a directory.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most bytes that are read of a file. A kernel's configuration, the longest of them, has 300 kB.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// A tree of files that describes a machine.
#[derive(Clone, Debug)]
pub struct Source {
    root: PathBuf,
}

impl Source {
    /// Returns the files of this machine.
    pub fn machine() -> Source {
        Source { root: PathBuf::from("/") }
    }

    /// Returns a copy of a machine's files below `root`.
    pub fn below(root: impl Into<PathBuf>) -> Source {
        Source { root: root.into() }
    }

    /// Reads the file at the absolute `path`, without white space at its ends. `None` if it cannot be read or is empty.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        self.read_head(path, TEXT_BYTES_MAX)
    }

    /// Reads like [`Source::read`], at most `bytes_max` bytes.
    pub fn read_head(&self, path: impl AsRef<Path>, bytes_max: u64) -> Option<String> {
        let mut bytes = Vec::new();
        File::open(self.resolve(path)).ok()?.take(bytes_max).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        // Files of a device tree end with NUL.
        let text = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns the names in a directory in ascending order; none if it cannot be read.
    pub fn list(&self, path: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.resolve(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}
