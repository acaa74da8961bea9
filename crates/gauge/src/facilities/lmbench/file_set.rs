//! A directory with up to 1000 files, a hundred per subdirectory, that are created and deleted. The directory is
//! removed on drop.
//!
//! LMbench has the same number of files and uses their paths. With only a few files, inodes and directory blocks stay
//! in the cache, and both operations take a third less.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use headwater_os_tools::library_calls::{create, unlink, write};
use headwater_os_tools::machine::{FreeSpace, free_space};

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
    /// Creates the subdirectories for the row, whose name ends in a size (`create-10k`), and checks that the disk takes
    /// all files.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that failed.
    pub fn make(job: &Job) -> Result<FileSet, Unavailable> {
        let mut files = FileSet::empty(job)?;
        files.try_out(FILES_MAX)?;
        Ok(files)
    }

    /// Checks that the directories and a file can be created, and that the file system has room for the others, without
    /// creating them.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that failed, or with what is free and what is needed.
    pub fn probe(job: &Job) -> Result<(), Unavailable> {
        let mut files = FileSet::empty(job)?;
        files.try_out(1)?;
        let free = free_space(&files.path).map_err(|error| files.failed("statvfs", error))?;
        enough(&files.path, files.contents.len() as u64, &free)
    }

    fn empty(job: &Job) -> Result<FileSet, Unavailable> {
        let contents = vec![b'h'; size(&job.row.subject)?];
        let path = job.directory.join(format!("{}-files", job.token));
        // Built before the directories, so that they are removed if a call fails.
        let mut files = FileSet { path, names: Vec::new(), contents, deleted: 0, created: 0 };
        fs::create_dir(&files.path).map_err(|error| files.failed("mkdir", error))?;
        for number in 0..FILES_MAX {
            let directory = files.path.join((number / FILES_PER_DIRECTORY).to_string());
            if number.is_multiple_of(FILES_PER_DIRECTORY) {
                fs::create_dir(&directory).map_err(|error| files.failed("mkdir", error))?;
            }
            let name = directory.join((number % FILES_PER_DIRECTORY).to_string());
            let name = CString::new(name.as_os_str().as_bytes());
            files.names.push(name.map_err(|error| Unavailable(format!("{}: {error}", files.path.display())))?);
        }
        Ok(files)
    }

    /// Creates and deletes `count` files.
    fn try_out(&mut self, count: u64) -> Result<(), Unavailable> {
        self.create(count).and_then(|()| self.clear()).map_err(|error| self.failed("write", error))
    }

    fn failed(&self, what: &str, error: io::Error) -> Unavailable {
        Unavailable::call(&format!("{what} in {}", self.path.display()), error)
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
            let file = create(name)?;
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
            unlink(name)?;
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

/// Checks that a file system with this much free takes all files of `bytes` bytes and their directories.
fn enough(path: &Path, bytes: u64, free: &FreeSpace) -> Result<(), Unavailable> {
    let block = free.block_bytes.max(1);
    let directories = FILES_MAX.div_ceil(FILES_PER_DIRECTORY) + 1;
    let needed = (FILES_MAX * bytes.div_ceil(block) + directories) * block;
    if free.bytes < needed {
        return Err(Unavailable(format!("{}: {needed} B are needed; {} are free", path.display(), free.bytes)));
    }
    match free.files {
        Some(files) if files < FILES_MAX + directories => {
            Err(Unavailable(format!("{}: {FILES_MAX} files are needed; {files} more are allowed", path.display())))
        }
        _ => Ok(()),
    }
}

/// Parses the size in bytes from the name of the row: `create-10k`, `delete-0k`.
fn size(subject: &str) -> Result<usize, Unavailable> {
    let kib = subject.rsplit_once('-').and_then(|(_, size)| size.strip_suffix('k')?.parse::<usize>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| Unavailable(format!("{subject} does not end in a file size such as -10k")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_with_too_few_bytes_or_files_is_refused_with_both_numbers() {
        let free = |bytes, files| FreeSpace { bytes, files, block_bytes: 4096 };
        let checked = |bytes, files| enough(Path::new("/p"), 10 << 10, &free(bytes, files)).map_err(|error| error.0);
        // 1000 files of three blocks, ten directories and the one around them.
        let needed = 3011 * 4096;
        assert_eq!(checked(needed, None), Ok(()));
        assert_eq!(checked(needed, Some(1011)), Ok(()));
        assert_eq!(checked(needed - 1, None), Err(format!("/p: {needed} B are needed; {} are free", needed - 1)));
        assert_eq!(checked(needed, Some(1010)), Err("/p: 1000 files are needed; 1010 more are allowed".to_owned()));
    }
}
