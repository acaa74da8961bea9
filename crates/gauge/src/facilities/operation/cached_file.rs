//! A private file of the launch. Its pages are in the page cache, because they have just been written. It is removed on
//! drop.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use headwater_os_tools::limits;

use super::memory_check::need;
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Size of a large file in bytes: more than the last-level cache of most processors.
pub const FILE_BYTES: usize = 64 << 20;

/// Bytes per write. Some file systems, ext4 among them, give the page cache folios as large as a write, and map a whole
/// folio at the first touch of any of its pages. LMbench copies its files in calls of 8 KiB.
const CHUNK: usize = 8 << 10;

/// A cached file. [`CachedFile::word`] defines its contents.
#[derive(Debug)]
pub struct CachedFile {
    path: PathBuf,
    bytes: usize,
}

impl CachedFile {
    /// Writes a file of `bytes` bytes, a multiple of [`CHUNK`], into the launch's directory.
    ///
    /// # Errors
    /// [`Unavailable`] with the limit or the call that prevents it.
    pub fn make(job: &Job, bytes: usize) -> Result<CachedFile, Unavailable> {
        assert!(bytes > 0 && bytes.is_multiple_of(CHUNK), "files are made of whole chunks");
        need(bytes as u64)?;
        // The kernel kills a process that exceeds this limit (SIGXFSZ).
        if let Some(limit) = limits::get("fsize").and_then(|limit| limit.soft).filter(|&limit| limit < bytes as u64) {
            return Err(Unavailable(format!("a file of {bytes} B: this process may write {limit} (ulimit -f)")));
        }
        // Built before the writes, so that the file is removed if they fail.
        let file = CachedFile { path: job.directory.join(format!("{}-cached", job.token)), bytes };
        file.write().map_err(|error| Unavailable::call(&format!("write {}", file.path.display()), error))?;
        Ok(file)
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns word `number` (8 bytes, at offset `8 * number`): the number itself, plus one for every 4 KiB, so that
    /// the first bytes of pages differ too.
    pub fn word(number: u64) -> u64 {
        number + number / 512
    }

    /// Returns the byte at `offset`.
    pub fn byte(offset: u64) -> u8 {
        CachedFile::word(offset / 8).to_ne_bytes()[offset as usize % 8]
    }

    /// Returns the sum of the words `first .. first + count`, modulo 2^64.
    pub fn sum(first: u64, count: u64) -> u64 {
        (first..first + count).map(CachedFile::word).fold(0, u64::wrapping_add)
    }

    /// Opens the file for reading.
    ///
    /// # Errors
    /// [`Unavailable`] with what `open(2)` reports.
    pub fn open(&self) -> Result<OwnedFd, Unavailable> {
        self.opened(File::open(&self.path))
    }

    /// Opens the file for reading and writing.
    ///
    /// # Errors
    /// As [`CachedFile::open`].
    pub fn open_read_write(&self) -> Result<OwnedFd, Unavailable> {
        self.opened(OpenOptions::new().read(true).write(true).open(&self.path))
    }

    fn opened(&self, file: io::Result<File>) -> Result<OwnedFd, Unavailable> {
        match file {
            Ok(file) => Ok(file.into()),
            Err(error) => Err(Unavailable::call(&format!("open {}", self.path.display()), error)),
        }
    }

    fn write(&self) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&self.path)?;
        let mut chunk = vec![0; CHUNK];
        for first in (0..self.bytes as u64 / 8).step_by(CHUNK / 8) {
            for (word, number) in chunk.chunks_exact_mut(8).zip(first..) {
                word.copy_from_slice(&CachedFile::word(number).to_ne_bytes());
            }
            file.write_all(&chunk)?;
        }
        // Not synced: the page cache is enough, and the file is removed soon.
        Ok(())
    }
}

impl Drop for CachedFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn the_file_has_its_words_and_is_removed_on_drop() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("file");
        let file = CachedFile { path: path.clone(), bytes: 4 * CHUNK };
        file.write().expect("written");
        let mut bytes = Vec::new();
        File::from(file.open().expect("it is there")).read_to_end(&mut bytes).expect("read");
        assert_eq!(bytes.len(), 4 * CHUNK);
        let word = |number: usize| u64::from_ne_bytes(bytes[8 * number..][..8].try_into().expect("8 bytes"));
        let third_page = 2 * 4096 + 3;
        assert_eq!((word(3), word(CHUNK / 8 + 1)), (3, CachedFile::word(CHUNK as u64 / 8 + 1)));
        assert_eq!(bytes[third_page], CachedFile::byte(third_page as u64));
        assert_eq!((510..514).map(word).sum::<u64>(), CachedFile::sum(510, 4));
        assert_eq!([0, 1, 2].map(|page| CachedFile::byte(4096 * page)), [0, 1, 2]);
        drop(file);
        assert!(!path.exists());
    }
}
