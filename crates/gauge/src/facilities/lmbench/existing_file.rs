//! A small file in the launch's directory, for operations on an existing file. It is removed on drop.

use std::ffi::{CStr, CString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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

    /// Returns the length in bytes.
    pub fn length(&self) -> u64 {
        TEXT.len() as u64
    }
}

impl Drop for ExistingFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
