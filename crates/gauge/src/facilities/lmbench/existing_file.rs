//! A small file in the launch's directory, for operations on an existing file. It is removed on drop.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use headwater_os_tools::library_calls::Attributes;

use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The contents of the file.
const TEXT: &[u8] = b"headwater\n";

/// The file.
#[derive(Debug)]
pub struct ExistingFile {
    path: PathBuf,
    for_calls: CString,
}

impl ExistingFile {
    /// Creates the file in the launch's directory.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that failed.
    pub fn make(job: &Job) -> Result<ExistingFile, Unavailable> {
        let path = job.directory.join(format!("{}-file", job.token));
        let for_calls = CString::new(path.as_os_str().as_bytes())
            .map_err(|error| Unavailable(format!("{}: {error}", path.display())))?;
        let file = ExistingFile { path, for_calls };
        fs::write(&file.path, TEXT)
            .map_err(|error| Unavailable::call(&format!("write {}", file.path.display()), error))?;
        Ok(file)
    }

    /// Returns the path in the form of a system call's argument.
    pub fn path(&self) -> &CStr {
        &self.for_calls
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        &self.path
    }

    /// Checks that a call has returned the attributes of this file.
    ///
    /// # Errors
    /// What `stat(2)` reports; else both, if they differ.
    pub fn check(&self, found: Attributes) -> io::Result<()> {
        let expected = Attributes { bytes: TEXT.len() as u64, inode: fs::metadata(&self.path)?.ino() };
        match found {
            _ if found == expected => Ok(()),
            _ => Err(io::Error::other(format!("attributes of another file: {found:?} instead of {expected:?}"))),
        }
    }
}

impl Drop for ExistingFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
