//! Which streams of a driver have still to be closed by it, for those that come after a kill.
//!
//! The driver's file in the directory of devices has a word for each minor number: the cookie of the stream that was opened under
//! it, from before its open procedure until after its close procedure; else 0. Only a process that holds the lock of the number
//! writes it. So a process that gets the lock and finds a cookie there knows that the stream's last process has ended
//! without a close, however it ended.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use headwater_os::descriptors::{self, Found};
use headwater_os::file_facts::{self, FileFact};
use headwater_os::files;

use crate::error::Result;
use crate::limits::MINORS;

/// The driver's file, by whose open file description a stream's minor number is locked, and that number. The number is this
/// process's own: the one in the stream's memory, which other processes can write, is compared once, and selects no byte later.
#[derive(Debug)]
pub(crate) struct MinorLock {
    pub file: OwnedFd,
    pub minor: u32,
}

impl MinorLock {
    /// What another process has handed over, or its words in the stream's memory have selected, as the lock of a stream. None for
    /// any other file: this process writes into it, and opens it anew. Before that [`MinorLock::notes`] has to be true as well.
    pub fn checked(file: OwnedFd, driver: &str, minor: u32) -> Option<MinorLock> {
        // Without /proc the name cannot be asked for.
        let link = descriptors::link(Found::own(file.as_fd())).ok();
        let is_drivers = link.is_none_or(|link| link.file_name().is_some_and(|name| name == driver));
        // One that was opened for reading alone might be written with the rights of this process, which its opener does not have.
        let is_written = file_facts::fact(file.as_fd()).is_ok_and(|fact| fact == FileFact::Plain)
            && file_facts::is_read_write(&file).unwrap_or(false);
        (is_drivers && is_written && minor < MINORS).then_some(MinorLock { file, minor })
    }

    /// Whether the file has the stream under the number whose doorbell the kernel knows by that cookie.
    pub fn notes(&self, cookie: u64) -> bool {
        noted(self, self.minor) == cookie
    }
}

impl AsFd for MinorLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The stream of that cookie is opened under a number.
///
/// Errors: `ENOSPC` on a full disk.
pub(crate) fn note(lock: impl AsFd, minor: u32, cookie: u64) -> Result<()> {
    Ok(files::write_words(lock, minor.into(), &[cookie])?)
}

/// The stream under a number has been closed by its driver.
pub(crate) fn clear(lock: impl AsFd, minor: u32) {
    // The word is there. If it stays, the next process that opens the number has the driver close an empty stream.
    let _ = files::write_words(lock, minor.into(), &[0]);
}

/// The stream that is still to be closed under a number; 0: none.
pub(crate) fn noted(lock: impl AsFd, minor: u32) -> u64 {
    let mut word = [0];
    // There is no caller to report a read error to.
    let _ = files::read_words(lock, minor.into(), &mut word);
    word[0]
}

/// All numbers under which a stream is still to be closed: those that are open, and those of the dead.
pub(crate) fn all(lock: impl AsFd) -> Vec<u32> {
    let mut words = vec![0; MINORS as usize];
    let _ = files::read_words(lock, 0, &mut words);
    (0..MINORS).zip(words).filter(|(_, word)| *word != 0).map(|(minor, _)| minor).collect()
}
