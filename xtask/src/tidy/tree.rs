//! The repository for `tidy`: every path, and the text of every text file. Only this file of `tidy` reads the disk;
//! tests make their own trees.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Folders that do not belong to the project: build results, measurements, inputs of the targets in `fuzz`, and git's own.
const FOREIGN: [&str; 7] = [".git", "target", "headwater-runs", "__pycache__", "node_modules", "corpus", "artifacts"];

/// Paths relative to the top, with `/` between parts, ascending. A folder ends with `/` and has no text.
#[derive(Debug, Default)]
pub struct Tree {
    entries: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Reads everything below `root`. Of a file that is not UTF-8 only the path is known.
    ///
    /// # Errors
    /// If a folder or file cannot be read.
    pub fn read(root: &Path) -> Result<Tree> {
        let mut tree = Tree::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, root: &Path, folder: &str) -> Result<()> {
        let place = root.join(folder);
        for entry in fs::read_dir(&place).with_context(|| place.display().to_string())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}{name}");
            if entry.file_type()?.is_dir() {
                if FOREIGN.contains(&name.as_str()) {
                    continue;
                }
                let path = format!("{path}/");
                self.read_folder(root, &path)?;
                self.entries.insert(path, None);
            } else {
                let bytes = fs::read(entry.path()).with_context(|| path.clone())?;
                self.entries.insert(path, String::from_utf8(bytes).ok());
            }
        }
        Ok(())
    }

    /// Returns every text file: its path and its text.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// Returns every text file with one of these extensions below `folder` (which ends with `/`, or is empty for all).
    pub fn files_in<'a>(&'a self, folder: &'a str, extensions: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files().filter(move |(path, _)| {
            let extension = path.rsplit_once('.').map(|(_, extension)| extension);
            path.starts_with(folder) && extension.is_some_and(|extension| extensions.contains(&extension))
        })
    }

    /// Returns every path below `folder`, which ends with `/`; folders end with `/` too.
    pub fn paths_in<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        self.entries.keys().map(String::as_str).filter(move |path| path.starts_with(folder) && *path != folder)
    }

    /// Returns the text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.entries.get(path)?.as_deref()
    }

    /// Whether there is a file or folder of that name; a folder may be given with or without its `/`.
    pub fn has(&self, path: &str) -> bool {
        path.is_empty() || self.entries.contains_key(path) || self.entries.contains_key(&format!("{path}/"))
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Tree {
        let mut entries = BTreeMap::new();
        for (path, text) in files {
            for (slash, _) in path.match_indices('/') {
                entries.insert(path[..=slash].to_owned(), None);
            }
            entries.insert(path.to_owned(), Some(text.to_owned()));
        }
        Tree { entries }
    }
}
