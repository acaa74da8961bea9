//! Files that are created and deleted by the hundred, in a directory of their own that is removed when this is dropped.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::write;

use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The most files that there are at a time: of 10 KiB they take 1 MiB.
pub const FILES_MAX: u64 = 100;

/// The directory, and the names of its files.
#[derive(Debug)]
pub struct FileSet {
    path: PathBuf,
    directory: OwnedFd,
    names: Vec<CString>,
    contents: Vec<u8>,
}

impl FileSet {
    /// Makes the directory for the row, whose name ends in a size: `create-10k`. Whether there is room for as many files
    /// as there may be is tried.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that stands in the way.
    pub fn make(job: &Job) -> Result<FileSet, Unavailable> {
        let size = size(&job.row.subject)?;
        let path = job.directory.join(format!("{}-files", job.token));
        let refused = |what: &str, error: io::Error| Unavailable::call(&format!("{what} in {}", path.display()), error);
        fs::create_dir(&path).map_err(|error| refused("mkdir", error))?;
        let directory = openat(CWD, &path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let directory = directory.inspect_err(|_| drop(fs::remove_dir(&path)));
        let directory = directory.map_err(|error| refused("open", error.into()))?;
        let name = |number: u64| CString::new(format!("{number:03}")).expect("digits hold no zero byte");
        let files = FileSet {
            path: path.clone(),
            directory,
            names: (0..FILES_MAX).map(name).collect(),
            contents: vec![b'h'; size],
        };
        files.create(FILES_MAX).and_then(|()| files.delete(FILES_MAX)).map_err(|error| refused("write", error))?;
        Ok(files)
    }

    /// Creates the first `count` of the files, at most [`FILES_MAX`], each with its contents by one `write(2)`.
    ///
    /// # Errors
    /// What the system reports; `StorageFull` also if less was written than there is.
    pub fn create(&self, count: u64) -> io::Result<()> {
        for name in &self.names[..count as usize] {
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC;
            let file = openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR)?;
            if !self.contents.is_empty() && write(&file, &self.contents)? < self.contents.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        Ok(())
    }

    /// Deletes the first `count` of the files.
    ///
    /// # Errors
    /// What the system reports; `NotFound` if one is not there.
    pub fn delete(&self, count: u64) -> io::Result<()> {
        for name in &self.names[..count as usize] {
            unlinkat(&self.directory, name, AtFlags::empty())?;
        }
        Ok(())
    }

    /// How many files there are.
    ///
    /// # Errors
    /// What the system reports; in words, if one has another length than it ought to.
    pub fn count(&self) -> io::Result<u64> {
        let mut count = 0;
        for entry in fs::read_dir(&self.path)? {
            let length = entry?.metadata()?.len();
            if length != self.contents.len() as u64 {
                return Err(io::Error::other(format!("a file of {length} B where {} were to be", self.contents.len())));
            }
            count += 1;
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
