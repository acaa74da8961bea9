//! A directory with up to 1000 files, a hundred per subdirectory, that are created and deleted. The directory is
//! removed on drop.
//!
//! LMbench has the same number of files and uses their paths. With only a few files, inodes and directory blocks stay
//! in the cache, and both operations take a third less.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, open, unlink};
use rustix::io::write;

use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The most files that exist at a time. Files of 10 KiB then take 12 MiB of a disk.
pub const FILES_MAX: u64 = 1000;

/// Files per subdirectory.
const FILES_PER_DIRECTORY: u64 = 100;

/// The directory and its files. Files are created and deleted in the order of their numbers: those below `deleted` no
/// longer exist, those from `deleted` to `created` exist.
#[derive(Debug)]
pub struct FileSet {
    path: PathBuf,
    names: Vec<CString>,
    contents: Vec<u8>,
    /// Number of files that were deleted.
    deleted: u64,
    /// Number of files that were created.
    created: u64,
}

impl FileSet {
    /// Creates the subdirectories for the row, whose name ends in a size (`create-10k`), and checks that the disk has
    /// room for all files.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that failed.
    pub fn make(job: &Job) -> Result<FileSet, Unavailable> {
        let size = size(&job.row.subject)?;
        let path = job.directory.join(format!("{}-files", job.token));
        let call = |what: &str, error: io::Error| Unavailable::call(&format!("{what} in {}", path.display()), error);
        fs::create_dir(&path).map_err(|error| call("mkdir", error))?;
        // Built before the writes, so that the directory is removed if they fail.
        let contents = vec![b'h'; size];
        let mut files = FileSet { path: path.clone(), names: Vec::new(), contents, deleted: 0, created: 0 };
        for number in 0..FILES_MAX {
            let directory = path.join((number / FILES_PER_DIRECTORY).to_string());
            if number.is_multiple_of(FILES_PER_DIRECTORY) {
                fs::create_dir(&directory).map_err(|error| call("mkdir", error))?;
            }
            let name = directory.join((number % FILES_PER_DIRECTORY).to_string());
            let name = CString::new(name.as_os_str().as_bytes());
            files.names.push(name.map_err(|error| Unavailable(format!("{}: {error}", path.display())))?);
        }
        files.create(FILES_MAX).and_then(|()| files.clear()).map_err(|error| call("write", error))?;
        Ok(files)
    }

    /// Returns how many more files can be created.
    pub fn remaining(&self) -> u64 {
        FILES_MAX - self.created
    }

    /// Returns how many files exist.
    pub fn existing(&self) -> u64 {
        self.created - self.deleted
    }

    /// Creates the next `count` files, at most [`FileSet::remaining`], each with its contents by one `write(2)`.
    ///
    /// # Errors
    /// What the system reports; `StorageFull` also after a short write.
    pub fn create(&mut self, count: u64) -> io::Result<()> {
        for name in &self.names[self.created as usize..][..count as usize] {
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC;
            let file = open(name.as_c_str(), flags, Mode::RUSR | Mode::WUSR)?;
            self.created += 1;
            if !self.contents.is_empty() && write(&file, &self.contents)? < self.contents.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        Ok(())
    }

    /// Deletes the `count` oldest files, at most [`FileSet::existing`].
    ///
    /// # Errors
    /// What the system reports; `NotFound` if a file is missing.
    pub fn delete(&mut self, count: u64) -> io::Result<()> {
        for name in &self.names[self.deleted as usize..][..count as usize] {
            unlink(name.as_c_str())?;
        }
        self.deleted += count;
        Ok(())
    }

    /// Deletes all files. [`FileSet::remaining`] is then [`FILES_MAX`].
    ///
    /// # Errors
    /// As [`FileSet::delete`].
    pub fn clear(&mut self) -> io::Result<()> {
        self.delete(self.existing())?;
        (self.deleted, self.created) = (0, 0);
        Ok(())
    }

    /// Counts the files in the directories.
    ///
    /// # Errors
    /// What the system reports; a description if a file has an unexpected length.
    pub fn count(&self) -> io::Result<u64> {
        let mut count = 0;
        for directory in fs::read_dir(&self.path)? {
            for entry in fs::read_dir(directory?.path())? {
                let (length, expected) = (entry?.metadata()?.len(), self.contents.len());
                if length != expected as u64 {
                    return Err(io::Error::other(format!("a file has {length} B instead of {expected}")));
                }
                count += 1;
            }
        }
        Ok(count)
    }
}

impl Drop for FileSet {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Parses the size in bytes from the name of the row: `create-10k`, `delete-0k`.
fn size(subject: &str) -> Result<usize, Unavailable> {
    let kib = subject.rsplit_once('-').and_then(|(_, size)| size.strip_suffix('k')?.parse::<usize>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| Unavailable(format!("{subject} does not end in a file size such as -10k")))
}
