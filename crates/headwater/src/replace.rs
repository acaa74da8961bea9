//! Writes a file atomically: a reader sees the old contents or the new ones, never a part. Called wherever a file is
//! written that may exist already and may be read meanwhile.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Replaces `path` by what `write` writes, after that is on disk.
///
/// # Errors
/// Errors of the system or of `write`; the old contents are unchanged then.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    replace_as(OpenOptions::new(), path, write)
}

/// Writes `bytes` to `path`: to a file as [`replace`] does, so that a failure leaves no part of it; to a device or a pipe
/// directly.
///
/// # Errors
/// Errors of the system.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => fs::write(path, bytes),
        // Through a symbolic link to the file it names.
        Ok(_) => replace(&fs::canonicalize(path)?, |file| file.write_all(bytes)),
        Err(_) => replace(path, |file| file.write_all(bytes)),
    }
}

/// Replaces `path` as [`replace`] does, by a file that is created with these options.
///
/// # Errors
/// As [`replace`].
pub fn replace_as(
    options: OpenOptions,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    let new = path.with_file_name(name);
    let replaced = whole(options, &new, write).and_then(|()| fs::rename(&new, path));
    replaced.inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

fn whole(
    mut options: OpenOptions,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // What a killed process has left there, or another user: it may be a symbolic link.
    let _ = fs::remove_file(path);
    let file: File = options.write(true).create_new(true).open(path)?;
    let mut file = BufWriter::new(file);
    write(&mut file)?;
    file.into_inner()?.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::TempDir::new().expect("a temporary directory");
        let path = directory.path().join("file");
        replace(&path, |file| file.write_all(b"old")).expect("room on the disk");
        let half = |file: &mut dyn Write| {
            file.write_all(b"ne")?;
            Err(io::Error::other("the rest is missing"))
        };
        assert_eq!(replace(&path, half).expect_err("it failed").to_string(), "the rest is missing");
        assert_eq!(fs::read_to_string(&path).expect("the old file"), "old");
        replace(&path, |file| file.write_all(b"new")).expect("room on the disk");
        assert_eq!(fs::read_to_string(&path).expect("the new file"), "new");
        assert_eq!(fs::read_dir(directory.path()).expect("the directory").count(), 1, "no temporary file stays");
    }
}
