//! Files that are created and deleted by the thousand, a hundred to a directory, in a directory of their own that is removed
//! when this is dropped.
//!
//! As many and by their paths, as LMbench has them: with a few files whose inodes and directory blocks are hot, both
//! operations take a third less.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, open, unlink};
use rustix::io::write;

use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The most files that there are at a time: of 10 KiB they take 12 MiB of a disk.
pub const FILES_MAX: u64 = 1000;

/// Files of a directory.
const FILES_OF_A_DIRECTORY: u64 = 100;

/// The directory, and the files in it. Of the names the first are free again, then come the files that are there.
#[derive(Debug)]
pub struct FileSet {
    path: PathBuf,
    names: Vec<CString>,
    contents: Vec<u8>,
    /// Files that were deleted, from the first name on.
    deleted: u64,
    /// Files that were created, from the first name on.
    created: u64,
}

impl FileSet {
    /// Makes the directories for the row, whose name ends in a size: `create-10k`. Whether there is room for as many files
    /// as there may be is tried.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that stands in the way.
    pub fn make(job: &Job) -> Result<FileSet, Unavailable> {
        let size = size(&job.row.subject)?;
        let path = job.directory.join(format!("{}-files", job.token));
        let call = |what: &str, error: io::Error| Unavailable::call(&format!("{what} in {}", path.display()), error);
        fs::create_dir(&path).map_err(|error| call("mkdir", error))?;
        // From here on it is removed, whatever happens.
        let contents = vec![b'h'; size];
        let mut files = FileSet { path: path.clone(), names: Vec::new(), contents, deleted: 0, created: 0 };
        for number in 0..FILES_MAX {
            let directory = path.join((number / FILES_OF_A_DIRECTORY).to_string());
            if number.is_multiple_of(FILES_OF_A_DIRECTORY) {
                fs::create_dir(&directory).map_err(|error| call("mkdir", error))?;
            }
            let name = directory.join((number % FILES_OF_A_DIRECTORY).to_string());
            let name = CString::new(name.as_os_str().as_bytes());
            files.names.push(name.map_err(|error| Unavailable(format!("{}: {error}", path.display())))?);
        }
        files.create(FILES_MAX).and_then(|()| files.clear()).map_err(|error| call("write", error))?;
        Ok(files)
    }

    /// Names for files that can still be created.
    pub fn room(&self) -> u64 {
        FILES_MAX - self.created
    }

    /// Files that are there.
    pub fn there(&self) -> u64 {
        self.created - self.deleted
    }

    /// Creates the next `count` files, at most [`FileSet::room`], each with its contents by one `write(2)`.
    ///
    /// # Errors
    /// What the system reports; `StorageFull` also if less was written than there is.
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

    /// Deletes the `count` files that were created first, at most [`FileSet::there`].
    ///
    /// # Errors
    /// What the system reports; `NotFound` if one is not there.
    pub fn delete(&mut self, count: u64) -> io::Result<()> {
        for name in &self.names[self.deleted as usize..][..count as usize] {
            unlink(name.as_c_str())?;
        }
        self.deleted += count;
        Ok(())
    }

    /// Deletes all files; every name is free again.
    ///
    /// # Errors
    /// As [`FileSet::delete`].
    pub fn clear(&mut self) -> io::Result<()> {
        self.delete(self.there())?;
        (self.deleted, self.created) = (0, 0);
        Ok(())
    }

    /// How many files there are, counted.
    ///
    /// # Errors
    /// What the system reports; in words, if one has another length than it ought to.
    pub fn count(&self) -> io::Result<u64> {
        let mut count = 0;
        for directory in fs::read_dir(&self.path)? {
            for entry in fs::read_dir(directory?.path())? {
                let (length, expected) = (entry?.metadata()?.len(), self.contents.len());
                if length != expected as u64 {
                    return Err(io::Error::other(format!("a file of {length} B where {expected} were to be")));
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

/// Bytes, from the name of the row: `create-10k`, `delete-0k`.
fn size(subject: &str) -> Result<usize, Unavailable> {
    let kib = subject.rsplit_once('-').and_then(|(_, size)| size.strip_suffix('k')?.parse::<usize>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| Unavailable(format!("{subject} does not say how large its files are")))
}
